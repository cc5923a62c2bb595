package letter

import (
	"cmp"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"cpar"
	"cpar/internal/progress"
	"cpar/kdforest"
	"cpar/model/embed"
	"cpar/user/ope"
)

// An Image holds the features of an image, processed as in System Setup. Levels
// holds V_L1 + 1, which is within [0, 2], in steps of 2/β. KL holds the
// histogram V_LAB with sum 1.
type Image struct {
	Levels   []uint16
	KL       []float64
	Keywords []string
}

// The parameters of System Setup, with the paper's values.
const (
	beta  = 999
	gamma = 100
	trees = 10
)

type Options struct {
	Alpha   float64 // 0 selects the paper's value, 1
	Secret  [32]byte
	Printed Printed
	// OneKey makes Setup compute the matrix SᵀS_s once, as in RKDF Encryption.
	// Without it, every request has its own keys and sends its own matrices, as
	// in the box of PL1C-RF.
	OneKey bool
}

// A Node is a node of the encrypted RKDF (randomized k-d forest). In a leaf,
// CH1, CHKL and OPE are empty. Left and Right are indexes of nodes of the same
// tree, or none. Image is the image's number.
type Node struct {
	Image       int
	Left, Right int
	CV1, CVKL   []uint64 // C(V_i,L1), C(V_i,KL)
	CH1, CHKL   []uint64 // C(H_i,L1), C(H_i,KL)
	Field       int      // index of the split field s_i in SF, or none
	OPE         uint64   // OPE(V_i[s_i])
	Keywords    []byte   // AES({K_i,t})
}

const none = -1

func (n *Node) leaf() bool { return n.Left == none && n.Right == none }

// sibling returns the child of n other than k. If k is none, n lacks the child
// on the request's side.
func (n *Node) sibling(k int) int {
	if k == n.Left {
		return n.Right
	}
	return n.Left
}

type Cloud struct {
	Trees       [][]Node
	Images      int
	SS, SSPlane *Matrix
	SSKL        *Matrix
	Count       *Dots
	printed     Printed
}

// A User holds the keys and SF (the set of split fields). For the plaintext
// twin (Twin) it also holds the images' vectors.
type User struct {
	L1     *PL1C
	KL     *PKLC
	Fields []int // SF, as coordinates of V_i = [V_L1, V_KL]
	Count  *Dots // number of inner products computed for encryption
	mL1    int
	opt    Options
	embed  *embed.Projection
	ope    *ope.Key
	aes    cipher.AEAD
	random *rand.Rand
	images []Prepared
}

type Prepared struct {
	L1, KL []float64 // V̂_L1 with m̂ elements, and V_KL
	point  []uint16  // V_i = [V_L1, V_KL] in steps of 2/β, on which the trees split
}

// Setup performs System Setup and RKDF Encryption (Sec. IV-D1, IV-D2). It calls
// `report` with the number of encrypted nodes. Errors wrap cpar.ErrInput.
func Setup(ctx context.Context, images []Image, o Options, report progress.Func) (*User, *Cloud, error) {
	u, err := newUser(images, o)
	if err != nil {
		return nil, nil, fmt.Errorf("setting up: %w", err)
	}
	points := make([][]uint16, len(images))
	for i := range images {
		points[i] = u.images[i].point
	}
	// The paper does not print how trees are built. Here a node splits at the
	// median of one of its five most variable fields.
	forest, planes, err := kdforest.Build(points, kdforest.BuildOptions{Trees: trees, Top: 5,
		Draw: kdforest.DrawEvenly, Split: kdforest.SplitMedian, Seed: derive(o.Secret, "forest")})
	if err != nil {
		return nil, nil, fmt.Errorf("setting up: %w: %w", cpar.ErrInput, err)
	}
	for _, p := range planes {
		u.Fields = append(u.Fields, p.Dim)
	}
	slices.Sort(u.Fields)
	u.Fields = slices.Compact(u.Fields)
	c := &Cloud{Images: len(images), Count: new(Dots), printed: o.Printed}
	if o.OneKey {
		c.SS, c.SSPlane = u.L1.Evaluations()
		c.SSKL = u.KL.Evaluation()
	}
	return u, c, u.encrypt(ctx, c, images, forest, planes, report)
}

func newUser(images []Image, o Options) (*User, error) {
	if len(images) == 0 {
		return nil, fmt.Errorf("no images: %w", cpar.ErrInput)
	}
	levels := make([][]uint16, len(images))
	for i, image := range images {
		levels[i] = image.Levels
		if len(image.KL) != len(images[0].KL) {
			return nil, fmt.Errorf("image %d has %d bins, image 0 has %d: %w", i, len(image.KL), len(images[0].KL), cpar.ErrInput)
		}
	}
	baselines, err := embed.Baselines(levels, beta)
	if err != nil {
		return nil, err
	}
	m := len(levels[0])
	u := &User{mL1: m, opt: o, Count: new(Dots), random: generator(o.Secret, "requests")}
	mHat := embed.Dimension(m, beta, cmp.Or(o.Alpha, 1), gamma)
	if u.embed, err = embed.New(derive(o.Secret, "approximation"), m, beta, mHat, baselines); err != nil {
		return nil, err
	}
	if u.ope, err = ope.NewKey(derive(o.Secret, "OPE"), beta); err != nil {
		return nil, err
	}
	key := derive(o.Secret, "AES")
	block, err := aes.NewCipher(key[:])
	if err != nil {
		return nil, err
	}
	if u.aes, err = cipher.NewGCMWithRandomNonce(block); err != nil {
		return nil, err
	}
	u.L1, u.KL = NewPL1C(mHat, o.Secret, u.Count), NewPKLC(len(images[0].KL), o.Secret, u.Count)
	for i, image := range images {
		x, err := u.Prepare(image)
		if err != nil {
			return nil, fmt.Errorf("image %d: %w", i, err)
		}
		u.images = append(u.images, x)
	}
	return u, nil
}

// Prepare performs Data Preparation. It approximates the unary vector Ṽ of mβ
// elements by a vector V̂ of m̂ elements. Here V̂ is scaled to units of
// distance: ‖V̂_a − V̂_b‖² ≈ DL1_ab.
func (u *User) Prepare(image Image) (Prepared, error) {
	z, err := u.embed.Embed(image.Levels)
	if err != nil {
		return Prepared{}, err
	}
	unit := math.Sqrt(float64(u.embed.MHat()) * beta / 2)
	v := make([]float64, len(z))
	for i, x := range z {
		v[i] = float64(x) / unit
	}
	point := slices.Clone(image.Levels)
	for _, x := range image.KL {
		point = append(point, uint16(math.Round(x*beta/2)))
	}
	return Prepared{L1: v, KL: image.KL, point: point}, nil
}

// fields returns the coordinate of V̂_L1 and the bin of V_KL for a hyperplane
// that splits field s. The paper uses one number s_i for both. Here s_i is an
// index into [V_L1, V_KL] and selects one part of Dis(H, V). The other part is
// 0. As in the paper, the trees split V_L1, although H_i holds the unrelated
// element of V̂_L1 with the same number.
func (u *User) fields(s int) (l1, kl int) {
	switch {
	case u.opt.Printed.OneField:
		return s, s
	case s < u.mL1:
		return s % u.L1.M, none // m̂ is less than m_L1 if α is small
	}
	return none, s - u.mL1
}

func (u *User) encrypt(ctx context.Context, c *Cloud, images []Image, f *kdforest.Forest, planes []kdforest.Plane[uint16], report progress.Func) error {
	leaves := make([]Node, len(images))
	random, primes := generator(u.opt.Secret, "noise"), make([]float64, len(images)) // ε′_i
	for i := range images {
		var err error
		if leaves[i], err = u.leaf(i, epsilon(random), images[i].Keywords); err != nil {
			return fmt.Errorf("encrypting image %d: %w", i, err)
		}
		primes[i] = epsilon(random)
	}
	total, done := len(f.Trees)*len(images), 0
	for _, tree := range f.Trees {
		nodes := make([]Node, len(tree))
		for k, n := range tree {
			if err := ctx.Err(); err != nil {
				return err
			}
			nodes[k] = leaves[n.Record]
			nodes[k].Left, nodes[k].Right, nodes[k].Field = child(n.Left), child(n.Right), none
			if n.Plane != kdforest.None {
				if err := u.split(&nodes[k], planes[n.Plane], primes[n.Record]); err != nil {
					return fmt.Errorf("encrypting the hyperplane of image %d: %w", n.Record, err)
				}
			}
			done++
			report.Report("encrypt the forest", done, total)
		}
		c.Trees = append(c.Trees, nodes)
	}
	return nil
}

func child(k uint32) int {
	if k == kdforest.None {
		return none
	}
	return int(k)
}

// leaf returns a node of image i with the struct fields that inner nodes and
// leaves have in common. Both tools add the same ε_i, as Eq. 4 and 5 require.
func (u *User) leaf(i int, epsilon float64, keywords []string) (n Node, err error) {
	n.Image = i
	if n.CV1, err = u.L1.Vector(u.images[i].L1, epsilon); err != nil {
		return n, err
	}
	if n.CVKL, err = u.KL.Vector(u.images[i].KL, epsilon); err != nil {
		return n, err
	}
	n.Keywords = u.aes.Seal(nil, nil, []byte(strings.Join(keywords, "\n")), nil)
	return n, nil
}

// split sets the struct fields that only inner nodes have. Noise ε′_i is the
// same in both tools and at all nodes of an image (Sec. IV-D2).
func (u *User) split(n *Node, plane kdforest.Plane[uint16], epsilonPrime float64) (err error) {
	l1, kl := u.fields(plane.Dim)
	if n.CH1, err = u.L1.Plane(u.images[n.Image].L1, l1, epsilonPrime); err != nil {
		return err
	}
	if n.CHKL, err = u.KL.Plane(u.images[n.Image].KL, kl, epsilonPrime); err != nil {
		return err
	}
	n.Field, _ = slices.BinarySearch(u.Fields, plane.Dim)
	n.OPE, err = u.order(int(plane.Value))
	return err
}
