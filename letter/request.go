package letter

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"cpar"
)

// A Request is a Secure Annotation Request (Sec. IV-D3).
type Request struct {
	L1  *PL1CRequest // C(V_s,L1), C(H_s,L1)
	KL  *PKLCRequest // C(V_s,KL)
	OPE []uint64     // OPE(V_s[sf_j]) for each split field sf_j of SF
}

// Elements returns the number of 64-bit words in all ciphertexts, without the
// matrices.
func (q *Request) Elements() int {
	return len(q.L1.CV) + len(q.L1.CH) + len(q.KL.CV) + len(q.OPE)
}

// A Memory is the user's record of a request: its secret scale r_s and its
// plaintext V̂_s and V_s.
type Memory struct {
	Scale float64
	image Prepared
}

// Request encrypts the features of a new image. Without Options.OneKey, it
// draws new keys and includes three matrices. With OneKey, the cloud already
// has the matrices.
func (u *User) Request(image Image) (*Request, *Memory, error) {
	x, err := u.Prepare(image)
	if err != nil {
		return nil, nil, fmt.Errorf("making a request: %w", err)
	}
	m := &Memory{Scale: scale(u.random), image: x}
	if !u.opt.OneKey {
		u.L1.Renew()
		u.KL.Renew()
	}
	q := new(Request)
	if q.L1, err = u.L1.Request(x.L1, m.Scale); err != nil {
		return nil, nil, fmt.Errorf("making a request: %w", err)
	}
	if q.KL, err = u.KL.Request(x.KL, m.Scale); err != nil {
		return nil, nil, fmt.Errorf("making a request: %w", err)
	}
	if !u.opt.OneKey {
		q.L1.SS, q.L1.SSPlane = u.L1.Evaluations()
		q.KL.SS = u.KL.Evaluation()
	}
	for j := range u.Fields {
		c, err := u.Order(x, j)
		if err != nil {
			return nil, nil, fmt.Errorf("making a request: %w", err)
		}
		q.OPE = append(q.OPE, c)
	}
	return q, m, nil
}

// Order returns OPE(V[sf_j]), the order-preserving encryption of a split field.
func (u *User) Order(x Prepared, j int) (uint64, error) {
	return u.order(int(x.point[u.Fields[j]]))
}

// order returns OPE(level). All fields have one key, because the paper names no
// other.
func (u *User) order(level int) (uint64, error) { return u.ope.Encrypt(0, level) }

// A Reply holds the contents of Queue, nearest image first: image numbers,
// Comp_i and encrypted keywords.
type Reply struct {
	Images   []int
	Comp     []float64
	Keywords [][]byte
	Stats    Stats
}

// Bytes returns the size of Comp and Keywords, as the paper counts it.
func (r *Reply) Bytes() int {
	n := 8 * len(r.Comp)
	for _, k := range r.Keywords {
		n += len(k)
	}
	return n
}

// A Weighted is a final keyword with its weight.
type Weighted struct {
	Keyword string
	Weight  float64
}

// Select performs Final Keyword Selection (Sec. IV-D5) by Eq. 6 to 8.
func (u *User) Select(r *Reply, m *Memory) ([]Weighted, error) {
	dis := make([]float64, len(r.Comp))
	sum := 0.0
	for i, comp := range r.Comp {
		dis[i] = u.Dis(comp, m)
		sum += dis[i]
	}
	var out []Weighted
	at := map[string]int{}
	for i, c := range r.Keywords {
		plain, err := u.aes.Open(nil, nil, c, nil)
		if err != nil {
			return nil, fmt.Errorf("decrypting the keywords of neighbour %d: %w", i, cpar.ErrCorrupt)
		}
		for _, word := range strings.Split(string(plain), "\n") {
			if _, ok := at[word]; !ok {
				at[word] = len(out)
				out = append(out, Weighted{Keyword: word})
			}
			out[at[word]].Weight += 1 - dis[i]/sum // Eq. 7 and 8
		}
	}
	slices.SortStableFunc(out, func(a, b Weighted) int { return cmp.Compare(b.Weight, a.Weight) })
	return out, nil
}

// Dis computes Eq. 6 with a correction. With the boxes as printed, Comp =
// r_s(Dis − r) − 3ε, because V̂_s already contains ½r_s·Σv_s², PL1C-RF
// contributes −2r, and PKLC-RF contributes +r. Function Dis therefore adds r,
// but not Σv_s².
func (u *User) Dis(comp float64, m *Memory) float64 {
	if u.opt.Printed.DisOfSum {
		return 2*u.L1.R + squares(m.image.L1) + comp/m.Scale
	}
	return max(0, u.L1.R+comp/m.Scale)
}

// Twin returns a Comparer on plaintext, without ε and noise. A search with it
// runs the same code over the same trees.
func (u *User) Twin(c *Cloud, m *Memory) (Comparer, error) {
	vc, hc, err := u.L1.request(m.image.L1, m.Scale)
	if err != nil {
		return nil, err
	}
	kc, err := u.KL.request(m.image.KL, m.Scale)
	return &inTheClear{user: u, memory: m, vc: vc, hc: hc, kc: kc}, err
}

// FarthestPlane returns the largest distances Dis(H_i, V_s) of a request from
// hyperplanes of c that split a level (l1) and a bin (kl), as shares of its
// distance from the lth nearest image. Line 25 skips a side at a share above 1.
func (u *User) FarthestPlane(c *Cloud, m *Memory, l int) (l1, kl float64, err error) {
	twin, err := u.Twin(c, m)
	if err != nil {
		return 0, 0, err
	}
	distances := make([]float64, len(u.images))
	for i := range distances {
		distances[i] = u.Dis(twin.comp(&Node{Image: i}), m)
	}
	slices.Sort(distances)
	lth := distances[min(l, len(distances))-1]
	for _, nodes := range c.Trees {
		for k := range nodes {
			n := &nodes[k]
			switch {
			case n.Field == none:
			case u.Fields[n.Field] < u.mL1:
				l1 = max(l1, u.Dis(twin.compPlane(n), m)/lth)
			default:
				kl = max(kl, u.Dis(twin.compPlane(n), m)/lth)
			}
		}
	}
	return l1, kl, nil
}

type inTheClear struct {
	user       *User
	memory     *Memory
	vc, hc, kc []float64
}

func (t *inTheClear) left(n *Node) bool {
	f := t.user.Fields[n.Field]
	return t.memory.image.point[f] <= t.user.images[n.Image].point[f]
}

func (t *inTheClear) comp(n *Node) float64 {
	x := t.user.images[n.Image]
	v, _ := t.user.L1.vector(x.L1, 0)
	k, _ := t.user.KL.vector(x.KL, 0)
	return -2*dot(v, t.vc) + dot(k, t.kc)
}

func (t *inTheClear) compPlane(n *Node) float64 {
	x := t.user.images[n.Image]
	l1, kl := t.user.fields(t.user.Fields[n.Field])
	h, _ := t.user.L1.plane(x.L1, l1, 0)
	k, _ := t.user.KL.plane(x.KL, kl, 0)
	return -2*dot(h, t.hc) + dot(k, t.kc)
}

func (t *inTheClear) compPrinted(qL, cur *Node) (float64, error) {
	v, err := t.user.L1.vector(t.user.images[qL.Image].L1, 0)
	if err != nil {
		return 0, err
	}
	k, err := t.user.KL.vector(t.user.images[cur.Image].KL, 0)
	return -2*dot(v, v) + dot(k, t.kc), err
}

func dot(a, b []float64) (sum float64) {
	for i, x := range a {
		sum += x * b[i]
	}
	return sum
}
