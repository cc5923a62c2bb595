package cost

import (
	"fmt"
	"slices"

	"github.com/tuneinsight/lattigo/v6/core/rlwe"
	"github.com/tuneinsight/lattigo/v6/schemes/bgv"
)

// A bgvIndex computes scores under the homomorphic encryption scheme BGV in the
// standard way. A ciphertext has N slots and holds one coordinate of N records.
// The server multiplies it by a ciphertext that holds the request's coordinate
// in all slots. It sums the products without relinearisation, because this
// takes the server the least time.
//
//	records  n×(d+1) ─▶ ⌈n/N⌉·(d+1) ciphertexts   the last coordinate is the addend
//	request  d+1     ─▶ d+1 ciphertexts           its last coordinate is 1
//	reply            ─▶ ⌈n/N⌉ ciphertexts of three polynomials
//
// Only costs are measured, so one object with the secret key serves as owner
// and server.
type bgvIndex struct {
	params    bgv.Parameters
	encoder   *bgv.Encoder
	encryptor *rlwe.Encryptor
	decryptor *rlwe.Decryptor
	records   int
	groups    [][]*rlwe.Ciphertext
}

// bgvParameters has 128 bits of security by the Homomorphic Encryption
// Standard. Its degree is the smallest that allows one product and scores of 16
// bits.
var bgvParameters = bgv.ParametersLiteral{LogN: 12, LogQ: []int{54, 54}, PlaintextModulus: 1<<16 + 1}

func newBGV(rows [][]int16, addends []int64) (*bgvIndex, error) {
	params, err := bgv.NewParametersFromLiteral(bgvParameters)
	if err != nil {
		return nil, fmt.Errorf("parameters of BGV: %w", err)
	}
	key := rlwe.NewKeyGenerator(params).GenSecretKeyNew()
	x := &bgvIndex{params: params, encoder: bgv.NewEncoder(params), encryptor: rlwe.NewEncryptor(params, key), decryptor: rlwe.NewDecryptor(params, key), records: len(rows)}
	slots := params.MaxSlots()
	for first := 0; first < len(rows); first += slots {
		n := min(slots, len(rows)-first)
		var group []*rlwe.Ciphertext
		for j := range len(rows[0]) + 1 {
			values := make([]int64, n)
			for i := range values {
				if values[i] = addends[first+i]; j < len(rows[0]) {
					values[i] = int64(rows[first+i][j])
				}
			}
			ct, err := x.encrypt(values)
			if err != nil {
				return nil, err
			}
			group = append(group, ct)
		}
		x.groups = append(x.groups, group)
	}
	return x, nil
}

func (x *bgvIndex) encrypt(values []int64) (*rlwe.Ciphertext, error) {
	pt := bgv.NewPlaintext(x.params, x.params.MaxLevel())
	if err := x.encoder.Encode(values, pt); err != nil {
		return nil, fmt.Errorf("encoding for BGV: %w", err)
	}
	return x.encryptor.EncryptNew(pt)
}

func (x *bgvIndex) request(u []int16) (out []*rlwe.Ciphertext, err error) {
	for j := range len(u) + 1 {
		value := int64(1)
		if j < len(u) {
			value = int64(u[j])
		}
		ct, err := x.encrypt(slices.Repeat([]int64{value}, x.params.MaxSlots()))
		if err != nil {
			return nil, err
		}
		out = append(out, ct)
	}
	return out, nil
}

func (x *bgvIndex) answer(request []*rlwe.Ciphertext) (out []*rlwe.Ciphertext, err error) {
	evaluator := bgv.NewEvaluator(x.params, nil)
	for _, group := range x.groups {
		sum, err := evaluator.MulNew(group[0], request[0])
		for j := 1; err == nil && j < len(group); j++ {
			err = evaluator.MulThenAdd(group[j], request[j], sum)
		}
		if err != nil {
			return nil, fmt.Errorf("multiplying by BGV: %w", err)
		}
		out = append(out, sum)
	}
	return out, nil
}

func (x *bgvIndex) read(reply []*rlwe.Ciphertext) ([]int64, error) {
	var out []int64
	for _, ct := range reply {
		values := make([]int64, x.params.MaxSlots())
		if err := x.encoder.Decode(x.decryptor.DecryptNew(ct), values); err != nil {
			return nil, fmt.Errorf("decoding BGV: %w", err)
		}
		out = append(out, values...)
	}
	return out[:x.records], nil
}

func (x *bgvIndex) bytes() (n uint64) {
	for _, group := range x.groups {
		n += uint64(bytesOfAll(group))
	}
	return n
}

func bytesOfAll(list []*rlwe.Ciphertext) (n int) {
	for _, ct := range list {
		n += ct.BinarySize()
	}
	return n
}
