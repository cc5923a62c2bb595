package main

import (
	"encoding/binary"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// A machine interprets the generator's instructions, so that AVX-512 is tested
// on processors without it, and checks access to memory.
type machine struct {
	functions map[string][]string
	constants map[string][]byte
	memory    []byte         // at address base
	granted   []bool         // by byte
	params    map[int]uint64 // by their offset from FP
	result    uint64         // the last store to a parameter
	general   map[string]uint64
	vectors   [32][16]uint32
	masks     map[string]uint16
	flags     int64
	carry     bool
}

const base = 1 << 20

func newMachine(text []byte) *machine {
	m := &machine{functions: map[string][]string{}, constants: map[string][]byte{}}
	name := ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || strings.HasPrefix(line, "//") || strings.HasPrefix(line, "#") || strings.HasPrefix(line, "GLOBL"):
		case strings.HasPrefix(line, "TEXT"):
			name = line[len("TEXT ·"):strings.Index(line, "(SB)")]
		case strings.HasPrefix(line, "DATA"):
			var v uint32
			symbol, rest, _ := strings.Cut(line[len("DATA "):], "+")
			if _, err := fmt.Sscanf(rest[strings.Index(rest, "$"):], "$0x%x", &v); err != nil {
				panic(line)
			}
			m.constants[symbol] = binary.LittleEndian.AppendUint32(m.constants[symbol], v)
		default:
			m.functions[name] = append(m.functions[name], line)
		}
	}
	return m
}

func (m *machine) reset() {
	m.memory, m.granted = nil, nil
	m.general, m.masks = map[string]uint64{}, map[string]uint16{}
	for i := range m.vectors {
		for l := range m.vectors[i] {
			m.vectors[i][l] = 0x7fc0dead // no kernel may rely on zeros
		}
	}
}

// grant copies bytes into separate memory and returns their address.
func (m *machine) grant(b []byte) uint64 {
	const gap = 1024
	m.memory = append(m.memory, make([]byte, gap)...)
	m.granted = append(m.granted, make([]bool, gap)...)
	address := uint64(base + len(m.memory))
	m.memory = append(m.memory, b...)
	for range b {
		m.granted = append(m.granted, true)
	}
	return address
}

func (m *machine) floats(x []float32) uint64 {
	b := make([]byte, 0, 4*len(x))
	for _, v := range x {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return m.grant(b)
}

func (m *machine) read(address uint64, n int) []float32 {
	out := make([]float32, n)
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(m.at(address+4*uint64(i), 4)))
	}
	return out
}

// at returns n bytes of granted memory.
func (m *machine) at(address uint64, n int) []byte {
	i := int(address - base)
	for j := i; j < i+n; j++ {
		if j < 0 || j >= len(m.granted) || !m.granted[j] {
			panic(fmt.Sprintf("address %#x is beyond what was passed", address))
		}
	}
	return m.memory[i : i+n]
}

var operands = regexp.MustCompile(`\$-?[0-9xa-f]+|[a-z0-9A-Z_<>]*[+-]?[0-9]*\([A-Z0-9]+\)(\([A-Z0-9]+\*[0-9]\))?|[A-Za-z][A-Za-z0-9_]*`)

func (m *machine) call(name string, params ...any) {
	m.params, m.result = map[int]uint64{}, 0
	offset := 0
	for _, p := range params {
		switch p := p.(type) {
		case float32:
			m.params[offset] = uint64(math.Float32bits(p))
			offset += 4
		default:
			offset = (offset + 7) / 8 * 8
			switch p := p.(type) {
			case int:
				m.params[offset] = uint64(p)
			case uint64:
				m.params[offset] = p
			case float64:
				m.params[offset] = math.Float64bits(p)
			}
			offset += 8
		}
	}
	code := m.functions[name]
	if code == nil {
		panic("no function " + name)
	}
	labels := map[string]int{}
	for i, line := range code {
		if strings.HasSuffix(line, ":") {
			labels[strings.TrimSuffix(line, ":")] = i
		}
	}
	for i := 0; ; i++ {
		line := code[i]
		op, rest, _ := strings.Cut(line, " ")
		switch {
		case strings.HasSuffix(line, ":"), op == "VZEROUPPER":
		case op == "RET":
			return
		case op[0] == 'J':
			target := strings.TrimSpace(rest)
			if op == "JMP" || op == "JPL" && m.flags >= 0 || op != "JPL" && (op == "JZ" || op == "JE") == (m.flags == 0) {
				i = labels[target]
			}
		default:
			m.execute(op, operands.FindAllString(rest, -1), line)
		}
	}
}

func number(s string) int64 {
	v, err := strconv.ParseInt(s, 0, 64)
	if err != nil {
		panic(err)
	}
	return v
}

var (
	parameter = regexp.MustCompile(`^[a-z0-9A-Z_]+\+([0-9]+)\(FP\)$`)
	symbol    = regexp.MustCompile(`^([a-zA-Z0-9]+<>)\+([0-9]+)\(SB\)$`)
	address   = regexp.MustCompile(`^(-?[0-9]*)\(([A-Z0-9]+)\)(?:\(([A-Z0-9]+)\*([0-9])\))?$`)
	vector    = regexp.MustCompile(`^([XYZ])([0-9]+)$`)
)

func (m *machine) bytesOf(o string, n int) []byte {
	if p := parameter.FindStringSubmatch(o); p != nil {
		return binary.LittleEndian.AppendUint64(nil, m.params[int(number(p[1]))])[:n]
	}
	if s := symbol.FindStringSubmatch(o); s != nil {
		return m.constants[s[1]][number(s[2]):][:n]
	}
	a := address.FindStringSubmatch(o)
	if a == nil {
		panic("operand " + o)
	}
	where := m.general[a[2]]
	if a[1] != "" {
		where += uint64(number(a[1]))
	}
	if a[3] != "" {
		where += m.general[a[3]] * uint64(number(a[4]))
	}
	return m.at(where, n)
}

func (m *machine) word(o string) uint64 {
	if o[0] == '$' {
		return uint64(number(o[1:]))
	}
	if strings.Contains(o, "(") {
		return binary.LittleEndian.Uint64(m.bytesOf(o, 8))
	}
	return m.general[o]
}

// lanesOf returns the number of lanes of a register, and its number.
func lanesOf(o string) (lanes, register int) {
	v := vector.FindStringSubmatch(o)
	if v == nil {
		panic("not a vector: " + o)
	}
	return map[string]int{"X": 4, "Y": 8, "Z": 16}[v[1]], int(number(v[2]))
}

// value returns a vector from a register or memory.
func (m *machine) value(o string, lanes int) (out [16]uint32) {
	if !strings.Contains(o, "(") {
		_, r := lanesOf(o)
		copy(out[:lanes], m.vectors[r][:])
		return out
	}
	b := m.bytesOf(o, 4*lanes)
	for i := range lanes {
		out[i] = binary.LittleEndian.Uint32(b[4*i:])
	}
	return out
}

// set writes a vector and zeroes the rest of a register.
func (m *machine) set(o string, v [16]uint32, lanes int) {
	if !strings.Contains(o, "(") {
		_, r := lanesOf(o)
		m.vectors[r] = [16]uint32{}
		copy(m.vectors[r][:lanes], v[:])
		return
	}
	if parameter.MatchString(o) {
		m.result = uint64(v[0])
		return
	}
	b := m.bytesOf(o, 4*lanes)
	for i := range lanes {
		binary.LittleEndian.PutUint32(b[4*i:], v[i])
	}
}

// execute runs one instruction, whose last operand is the result.
func (m *machine) execute(op string, o []string, line string) {
	last := o[len(o)-1]
	switch op {
	case "MOVQ":
		m.general[last] = m.word(o[0])
		return
	case "ADDQ":
		m.general[last] += m.word(o[0])
		return
	case "ANDQ":
		m.general[last] &= m.word(o[0])
		return
	case "SHRQ":
		m.general[last] >>= m.word(o[0])
		return
	case "SHLQ":
		m.general[last] <<= m.word(o[0])
		return
	case "PREFETCHT0", "PREFETCHT1": // may name any address
		return
	case "DECQ":
		m.general[last]--
		m.flags = int64(m.general[last])
		return
	case "TESTQ":
		m.flags = int64(m.word(o[0]) & m.word(o[1]))
		return
	case "CMPQ":
		m.flags, m.carry = int64(m.word(o[0])-m.word(o[1])), m.word(o[0]) < m.word(o[1])
		return
	case "CMOVQCC":
		if !m.carry {
			m.general[last] = m.word(o[0])
		}
		return
	}
	m.vectorOperation(op, o, line)
}
