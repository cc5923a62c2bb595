//go:build !purego

#include "textflag.h"

// A word is split into halves of 24 bits, w = l + h·2²⁴. A sum of products is
//
//	S₀ + (S₁ − S₀ − S₂)·2²⁴ + S₂·2⁴⁸   for S₀ = Σ l·l', S₁ = Σ (l+h)·(l'+h'), S₂ = Σ h·h'
//
// (A. Karatsuba and Yu. Ofman, "Multiplication of many-digital numbers by automatic computers", 1962). Each sum is
// below 2⁶¹ after 2,048 products. The kernels store the three sums.

// func foursNEON(places *[4][16]byte, sums *[4][3]uint64, r0 *byte, r1 *byte, r2 *byte, r3 *byte, x *uint64, eights int)
TEXT ·foursNEON(SB), NOSPLIT, $0-64
	MOVD places+0(FP), R0
	MOVD sums+8(FP), R1
	MOVD r0+16(FP), R2
	MOVD r1+24(FP), R3
	MOVD r2+32(FP), R4
	MOVD r3+40(FP), R5
	MOVD x+48(FP), R6
	MOVD eights+56(FP), R7
	VLD1 (R0), [V9.B16, V10.B16, V11.B16, V12.B16]
	VEOR V16.B16, V16.B16, V16.B16
	VEOR V17.B16, V17.B16, V17.B16
	VEOR V18.B16, V18.B16, V18.B16
	VEOR V19.B16, V19.B16, V19.B16
	VEOR V20.B16, V20.B16, V20.B16
	VEOR V21.B16, V21.B16, V21.B16
	VEOR V22.B16, V22.B16, V22.B16
	VEOR V23.B16, V23.B16, V23.B16
	VEOR V24.B16, V24.B16, V24.B16
	VEOR V25.B16, V25.B16, V25.B16
	VEOR V26.B16, V26.B16, V26.B16
	VEOR V27.B16, V27.B16, V27.B16
	CBZ  R7, fours_done

// V3 to V8 hold the request, V9 to V12 the places, and V16 to V27 the three sums of each row.
fours:
	VLD2.P 32(R6), [V3.S4, V4.S4]
	VLD2.P 32(R6), [V5.S4, V6.S4]
	VLD2.P 32(R6), [V7.S4, V8.S4]
	VLD1.P 48(R2), [V0.B16, V1.B16, V2.B16]
	VTBL   V9.B16, [V0.B16, V1.B16], V13.B16
	VTBL   V10.B16, [V0.B16, V1.B16], V14.B16
	VTBL   V11.B16, [V1.B16, V2.B16], V28.B16
	VTBL   V12.B16, [V1.B16, V2.B16], V29.B16
	VADD   V13.S4, V14.S4, V15.S4
	VADD   V28.S4, V29.S4, V30.S4
	WORD   $0x2ea381b0 // umlal v16.2d, v13.2s, v3.2s
	WORD   $0x2ea781f1 // umlal v17.2d, v15.2s, v7.2s
	WORD   $0x2ea481d2 // umlal v18.2d, v14.2s, v4.2s
	WORD   $0x6ea381b0 // umlal2 v16.2d, v13.4s, v3.4s
	WORD   $0x6ea781f1 // umlal2 v17.2d, v15.4s, v7.4s
	WORD   $0x6ea481d2 // umlal2 v18.2d, v14.4s, v4.4s
	WORD   $0x2ea58390 // umlal v16.2d, v28.2s, v5.2s
	WORD   $0x2ea883d1 // umlal v17.2d, v30.2s, v8.2s
	WORD   $0x2ea683b2 // umlal v18.2d, v29.2s, v6.2s
	WORD   $0x6ea58390 // umlal2 v16.2d, v28.4s, v5.4s
	WORD   $0x6ea883d1 // umlal2 v17.2d, v30.4s, v8.4s
	WORD   $0x6ea683b2 // umlal2 v18.2d, v29.4s, v6.4s
	VLD1.P 48(R3), [V0.B16, V1.B16, V2.B16]
	VTBL   V9.B16, [V0.B16, V1.B16], V13.B16
	VTBL   V10.B16, [V0.B16, V1.B16], V14.B16
	VTBL   V11.B16, [V1.B16, V2.B16], V28.B16
	VTBL   V12.B16, [V1.B16, V2.B16], V29.B16
	VADD   V13.S4, V14.S4, V15.S4
	VADD   V28.S4, V29.S4, V30.S4
	WORD   $0x2ea381b3 // umlal v19.2d, v13.2s, v3.2s
	WORD   $0x2ea781f4 // umlal v20.2d, v15.2s, v7.2s
	WORD   $0x2ea481d5 // umlal v21.2d, v14.2s, v4.2s
	WORD   $0x6ea381b3 // umlal2 v19.2d, v13.4s, v3.4s
	WORD   $0x6ea781f4 // umlal2 v20.2d, v15.4s, v7.4s
	WORD   $0x6ea481d5 // umlal2 v21.2d, v14.4s, v4.4s
	WORD   $0x2ea58393 // umlal v19.2d, v28.2s, v5.2s
	WORD   $0x2ea883d4 // umlal v20.2d, v30.2s, v8.2s
	WORD   $0x2ea683b5 // umlal v21.2d, v29.2s, v6.2s
	WORD   $0x6ea58393 // umlal2 v19.2d, v28.4s, v5.4s
	WORD   $0x6ea883d4 // umlal2 v20.2d, v30.4s, v8.4s
	WORD   $0x6ea683b5 // umlal2 v21.2d, v29.4s, v6.4s
	VLD1.P 48(R4), [V0.B16, V1.B16, V2.B16]
	VTBL   V9.B16, [V0.B16, V1.B16], V13.B16
	VTBL   V10.B16, [V0.B16, V1.B16], V14.B16
	VTBL   V11.B16, [V1.B16, V2.B16], V28.B16
	VTBL   V12.B16, [V1.B16, V2.B16], V29.B16
	VADD   V13.S4, V14.S4, V15.S4
	VADD   V28.S4, V29.S4, V30.S4
	WORD   $0x2ea381b6 // umlal v22.2d, v13.2s, v3.2s
	WORD   $0x2ea781f7 // umlal v23.2d, v15.2s, v7.2s
	WORD   $0x2ea481d8 // umlal v24.2d, v14.2s, v4.2s
	WORD   $0x6ea381b6 // umlal2 v22.2d, v13.4s, v3.4s
	WORD   $0x6ea781f7 // umlal2 v23.2d, v15.4s, v7.4s
	WORD   $0x6ea481d8 // umlal2 v24.2d, v14.4s, v4.4s
	WORD   $0x2ea58396 // umlal v22.2d, v28.2s, v5.2s
	WORD   $0x2ea883d7 // umlal v23.2d, v30.2s, v8.2s
	WORD   $0x2ea683b8 // umlal v24.2d, v29.2s, v6.2s
	WORD   $0x6ea58396 // umlal2 v22.2d, v28.4s, v5.4s
	WORD   $0x6ea883d7 // umlal2 v23.2d, v30.4s, v8.4s
	WORD   $0x6ea683b8 // umlal2 v24.2d, v29.4s, v6.4s
	VLD1.P 48(R5), [V0.B16, V1.B16, V2.B16]
	VTBL   V9.B16, [V0.B16, V1.B16], V13.B16
	VTBL   V10.B16, [V0.B16, V1.B16], V14.B16
	VTBL   V11.B16, [V1.B16, V2.B16], V28.B16
	VTBL   V12.B16, [V1.B16, V2.B16], V29.B16
	VADD   V13.S4, V14.S4, V15.S4
	VADD   V28.S4, V29.S4, V30.S4
	WORD   $0x2ea381b9 // umlal v25.2d, v13.2s, v3.2s
	WORD   $0x2ea781fa // umlal v26.2d, v15.2s, v7.2s
	WORD   $0x2ea481db // umlal v27.2d, v14.2s, v4.2s
	WORD   $0x6ea381b9 // umlal2 v25.2d, v13.4s, v3.4s
	WORD   $0x6ea781fa // umlal2 v26.2d, v15.4s, v7.4s
	WORD   $0x6ea481db // umlal2 v27.2d, v14.4s, v4.4s
	WORD   $0x2ea58399 // umlal v25.2d, v28.2s, v5.2s
	WORD   $0x2ea883da // umlal v26.2d, v30.2s, v8.2s
	WORD   $0x2ea683bb // umlal v27.2d, v29.2s, v6.2s
	WORD   $0x6ea58399 // umlal2 v25.2d, v28.4s, v5.4s
	WORD   $0x6ea883da // umlal2 v26.2d, v30.4s, v8.4s
	WORD   $0x6ea683bb // umlal2 v27.2d, v29.4s, v6.4s
	SUBS   $1, R7, R7
	BNE    fours

fours_done:
	VADDP  V17.D2, V16.D2, V0.D2
	VADDP  V19.D2, V18.D2, V1.D2
	VADDP  V21.D2, V20.D2, V2.D2
	VADDP  V23.D2, V22.D2, V3.D2
	VADDP  V25.D2, V24.D2, V4.D2
	VADDP  V27.D2, V26.D2, V5.D2
	VST1.P [V0.D2, V1.D2, V2.D2, V3.D2], 64(R1)
	VST1   [V4.D2, V5.D2], (R1)
	RET

// func productsNEON(sums *[4]uint64, rows int, a *uint64, b *uint64, eights int)
TEXT ·productsNEON(SB), NOSPLIT, $0-40
	MOVD sums+0(FP), R0
	MOVD rows+8(FP), R1
	MOVD a+16(FP), R2
	MOVD b+24(FP), R3
	MOVD eights+32(FP), R4
	MOVD $0xffffff, R5
	VDUP R5, V31.S4

// V16 to V18 hold the three sums of the first four words of eight, and V19 to V21 hold the sums of the last four.
row:
	VEOR V16.B16, V16.B16, V16.B16
	VEOR V17.B16, V17.B16, V17.B16
	VEOR V18.B16, V18.B16, V18.B16
	VEOR V19.B16, V19.B16, V19.B16
	VEOR V20.B16, V20.B16, V20.B16
	VEOR V21.B16, V21.B16, V21.B16
	MOVD R4, R6
	CBZ  R6, row_done

products:
	VLD2.P 32(R2), [V0.S4, V1.S4]
	VLD2.P 32(R3), [V2.S4, V3.S4]
	VLD2.P 32(R2), [V4.S4, V5.S4]
	VLD2.P 32(R3), [V6.S4, V7.S4]
	VAND   V31.B16, V0.B16, V8.B16
	VAND   V31.B16, V2.B16, V9.B16
	VAND   V31.B16, V4.B16, V10.B16
	VAND   V31.B16, V6.B16, V11.B16
	VUSHR  $24, V0.S4, V12.S4
	VUSHR  $24, V2.S4, V13.S4
	VUSHR  $24, V4.S4, V14.S4
	VUSHR  $24, V6.S4, V15.S4
	VSLI   $8, V1.S4, V12.S4
	VSLI   $8, V3.S4, V13.S4
	VSLI   $8, V5.S4, V14.S4
	VSLI   $8, V7.S4, V15.S4
	VADD   V8.S4, V12.S4, V0.S4
	VADD   V9.S4, V13.S4, V1.S4
	VADD   V10.S4, V14.S4, V2.S4
	VADD   V11.S4, V15.S4, V3.S4
	WORD   $0x2ea98110 // umlal v16.2d, v8.2s, v9.2s
	WORD   $0x2ea18011 // umlal v17.2d, v0.2s, v1.2s
	WORD   $0x2ead8192 // umlal v18.2d, v12.2s, v13.2s
	WORD   $0x6ea98110 // umlal2 v16.2d, v8.4s, v9.4s
	WORD   $0x6ea18011 // umlal2 v17.2d, v0.4s, v1.4s
	WORD   $0x6ead8192 // umlal2 v18.2d, v12.4s, v13.4s
	WORD   $0x2eab8153 // umlal v19.2d, v10.2s, v11.2s
	WORD   $0x2ea38054 // umlal v20.2d, v2.2s, v3.2s
	WORD   $0x2eaf81d5 // umlal v21.2d, v14.2s, v15.2s
	WORD   $0x6eab8153 // umlal2 v19.2d, v10.4s, v11.4s
	WORD   $0x6ea38054 // umlal2 v20.2d, v2.4s, v3.4s
	WORD   $0x6eaf81d5 // umlal2 v21.2d, v14.4s, v15.4s
	SUBS   $1, R6, R6
	BNE    products

row_done:
	VADD   V19.D2, V16.D2, V16.D2
	VADD   V20.D2, V17.D2, V17.D2
	VADD   V21.D2, V18.D2, V18.D2
	VADDP  V17.D2, V16.D2, V0.D2
	VADDP  V18.D2, V18.D2, V1.D2
	VST1.P [V0.D2, V1.D2], 32(R0)
	SUBS   $1, R1, R1
	BNE    row
	RET

// func cutNEON(dst *uint64, b *byte, sixteens int, drop uint64, last uint64) uint64
TEXT ·cutNEON(SB), NOSPLIT, $0-48
	MOVD dst+0(FP), R0
	MOVD b+8(FP), R1
	MOVD sixteens+16(FP), R2
	MOVD drop+24(FP), R3
	MOVD last+32(FP), R4
	SUB  R3, ZR, R3
	VDUP R3, V30.D2
	VDUP R4, V31.D2
	VEOR V28.B16, V28.B16, V28.B16
	VEOR V29.B16, V29.B16, V29.B16
	CBZ  R2, cut_done

cut:
	VLD1.P 64(R1), [V0.D2, V1.D2, V2.D2, V3.D2]
	VLD1.P 64(R1), [V4.D2, V5.D2, V6.D2, V7.D2]
	WORD   $0x6efe4400 // ushl v0.2d, v0.2d, v30.2d
	WORD   $0x6efe4421 // ushl v1.2d, v1.2d, v30.2d
	WORD   $0x6efe4442 // ushl v2.2d, v2.2d, v30.2d
	WORD   $0x6efe4463 // ushl v3.2d, v3.2d, v30.2d
	WORD   $0x6efe4484 // ushl v4.2d, v4.2d, v30.2d
	WORD   $0x6efe44a5 // ushl v5.2d, v5.2d, v30.2d
	WORD   $0x6efe44c6 // ushl v6.2d, v6.2d, v30.2d
	WORD   $0x6efe44e7 // ushl v7.2d, v7.2d, v30.2d
	VST1.P [V0.D2, V1.D2, V2.D2, V3.D2], 64(R0)
	VST1.P [V4.D2, V5.D2, V6.D2, V7.D2], 64(R0)
	VSUB   V0.D2, V31.D2, V16.D2
	VSUB   V1.D2, V31.D2, V17.D2
	VSUB   V2.D2, V31.D2, V18.D2
	VSUB   V3.D2, V31.D2, V19.D2
	VSUB   V4.D2, V31.D2, V20.D2
	VSUB   V5.D2, V31.D2, V21.D2
	VSUB   V6.D2, V31.D2, V22.D2
	VSUB   V7.D2, V31.D2, V23.D2
	VORR   V16.B16, V28.B16, V28.B16
	VORR   V17.B16, V29.B16, V29.B16
	VORR   V18.B16, V28.B16, V28.B16
	VORR   V19.B16, V29.B16, V29.B16
	VORR   V20.B16, V28.B16, V28.B16
	VORR   V21.B16, V29.B16, V29.B16
	VORR   V22.B16, V28.B16, V28.B16
	VORR   V23.B16, V29.B16, V29.B16
	SUBS   $1, R2, R2
	BNE    cut

cut_done:
	VORR V29.B16, V28.B16, V28.B16
	VMOV V28.D[0], R3
	VMOV V28.D[1], R4
	ORR  R3, R4, R3
	MOVD R3, ret+40(FP)
	RET

// func fieldsNEON(quads *[2][2][16]byte, shifts *[6]uint64, dst *uint64, b *byte, blocks int)
TEXT ·fieldsNEON(SB), NOSPLIT, $0-40
	MOVD quads+0(FP), R0
	MOVD shifts+8(FP), R1
	MOVD dst+16(FP), R2
	MOVD b+24(FP), R3
	MOVD blocks+32(FP), R4
	VLD1 (R0), [V16.B16, V17.B16, V18.B16, V19.B16]
	VLD1 (R1), [V20.D2, V21.D2, V22.D2]
	CBZ  R4, fields_done

fields:
// Four fields are 13 bytes. The last read of 16 bytes begins three bytes early.
	FMOVQ  0(R3), F24
	FMOVQ  13(R3), F25
	FMOVQ  26(R3), F26
	FMOVQ  36(R3), F27
	VTBL   V16.B16, [V24.B16], V0.B16
	VTBL   V17.B16, [V24.B16], V1.B16
	VTBL   V16.B16, [V25.B16], V2.B16
	VTBL   V17.B16, [V25.B16], V3.B16
	VTBL   V16.B16, [V26.B16], V4.B16
	VTBL   V17.B16, [V26.B16], V5.B16
	VTBL   V18.B16, [V27.B16], V6.B16
	VTBL   V19.B16, [V27.B16], V7.B16
	WORD   $0x6ef44400 // ushl v0.2d, v0.2d, v20.2d
	WORD   $0x6ef54421 // ushl v1.2d, v1.2d, v21.2d
	WORD   $0x6ef44442 // ushl v2.2d, v2.2d, v20.2d
	WORD   $0x6ef54463 // ushl v3.2d, v3.2d, v21.2d
	WORD   $0x6ef44484 // ushl v4.2d, v4.2d, v20.2d
	WORD   $0x6ef544a5 // ushl v5.2d, v5.2d, v21.2d
	WORD   $0x6ef444c6 // ushl v6.2d, v6.2d, v20.2d
	WORD   $0x6ef544e7 // ushl v7.2d, v7.2d, v21.2d
	VAND   V22.B16, V0.B16, V0.B16
	VAND   V22.B16, V1.B16, V1.B16
	VAND   V22.B16, V2.B16, V2.B16
	VAND   V22.B16, V3.B16, V3.B16
	VAND   V22.B16, V4.B16, V4.B16
	VAND   V22.B16, V5.B16, V5.B16
	VAND   V22.B16, V6.B16, V6.B16
	VAND   V22.B16, V7.B16, V7.B16
	VST1.P [V0.D2, V1.D2, V2.D2, V3.D2], 64(R2)
	VST1.P [V4.D2, V5.D2, V6.D2, V7.D2], 64(R2)
	ADD    $52, R3, R3
	SUBS   $1, R4, R4
	BNE    fields

fields_done:
	RET

// The transform uses float64. Comments in gen/owner_avx2.go bound its values and show that they are exact.

// func floatsNEON(p *uint64, eights int)
TEXT ·floatsNEON(SB), NOSPLIT, $0-16
	MOVD p+0(FP), R0
	MOVD eights+8(FP), R1

floats:
	VLD1   (R0), [V0.D2, V1.D2, V2.D2, V3.D2]
	WORD   $0x6e61d800 // ucvtf v0.2d, v0.2d
	WORD   $0x6e61d821 // ucvtf v1.2d, v1.2d
	WORD   $0x6e61d842 // ucvtf v2.2d, v2.2d
	WORD   $0x6e61d863 // ucvtf v3.2d, v3.2d
	VST1.P [V0.D2, V1.D2, V2.D2, V3.D2], 64(R0)
	SUBS   $1, R1, R1
	BNE    floats
	RET

// func levelNEON(q float64, p *uint64, roots *[5]uint64, blocks int, eights int)
TEXT ·levelNEON(SB), NOSPLIT, $0-40
	FMOVD q+0(FP), F31
	MOVD  p+8(FP), R0
	MOVD  roots+16(FP), R2
	MOVD  blocks+24(FP), R3
	MOVD  eights+32(FP), R4
	VDUP  V31.D[0], V31.D2
	LSL   $6, R4, R5
	ADD   R5, R0, R1

block:
// The factor and the factor over q are the last two forms of a root.
	ADD     $24, R2, R6
	VLD1R.P 8(R6), [V30.D2]
	VLD1R   (R6), [V29.D2]
	ADD     $40, R2, R2
	MOVD    R4, R6

// For y·w: the rounded quotients go to V8 and up, the rounded products to V12, and their errors, negated, to V16.
butterflies:
	VLD1   (R0), [V0.D2, V1.D2, V2.D2, V3.D2]
	VLD1   (R1), [V4.D2, V5.D2, V6.D2, V7.D2]
	WORD   $0x6e7ddc88 // fmul v8.2d, v4.2d, v29.2d
	WORD   $0x6e7ddca9 // fmul v9.2d, v5.2d, v29.2d
	WORD   $0x6e7ddcca // fmul v10.2d, v6.2d, v29.2d
	WORD   $0x6e7ddceb // fmul v11.2d, v7.2d, v29.2d
	WORD   $0x6e7edc8c // fmul v12.2d, v4.2d, v30.2d
	WORD   $0x6e7edcad // fmul v13.2d, v5.2d, v30.2d
	WORD   $0x6e7edcce // fmul v14.2d, v6.2d, v30.2d
	WORD   $0x6e7edcef // fmul v15.2d, v7.2d, v30.2d
	WORD   $0x4e618908 // frintn v8.2d, v8.2d
	WORD   $0x4e618929 // frintn v9.2d, v9.2d
	WORD   $0x4e61894a // frintn v10.2d, v10.2d
	WORD   $0x4e61896b // frintn v11.2d, v11.2d
	VORR   V12.B16, V12.B16, V16.B16
	VORR   V13.B16, V13.B16, V17.B16
	VORR   V14.B16, V14.B16, V18.B16
	VORR   V15.B16, V15.B16, V19.B16
	VFMLS  V30.D2, V4.D2, V16.D2
	VFMLS  V30.D2, V5.D2, V17.D2
	VFMLS  V30.D2, V6.D2, V18.D2
	VFMLS  V30.D2, V7.D2, V19.D2
	VFMLS  V31.D2, V8.D2, V12.D2
	VFMLS  V31.D2, V9.D2, V13.D2
	VFMLS  V31.D2, V10.D2, V14.D2
	VFMLS  V31.D2, V11.D2, V15.D2
	WORD   $0x4ef0d58c // fsub v12.2d, v12.2d, v16.2d
	WORD   $0x4ef1d5ad // fsub v13.2d, v13.2d, v17.2d
	WORD   $0x4ef2d5ce // fsub v14.2d, v14.2d, v18.2d
	WORD   $0x4ef3d5ef // fsub v15.2d, v15.2d, v19.2d
	WORD   $0x4eecd404 // fsub v4.2d, v0.2d, v12.2d
	WORD   $0x4eedd425 // fsub v5.2d, v1.2d, v13.2d
	WORD   $0x4eeed446 // fsub v6.2d, v2.2d, v14.2d
	WORD   $0x4eefd467 // fsub v7.2d, v3.2d, v15.2d
	WORD   $0x4e6cd400 // fadd v0.2d, v0.2d, v12.2d
	WORD   $0x4e6dd421 // fadd v1.2d, v1.2d, v13.2d
	WORD   $0x4e6ed442 // fadd v2.2d, v2.2d, v14.2d
	WORD   $0x4e6fd463 // fadd v3.2d, v3.2d, v15.2d
	VST1.P [V4.D2, V5.D2, V6.D2, V7.D2], 64(R1)
	VST1.P [V0.D2, V1.D2, V2.D2, V3.D2], 64(R0)
	SUBS   $1, R6, R6
	BNE    butterflies
	MOVD   R1, R0
	ADD    R5, R0, R1
	SUBS   $1, R3, R3
	BNE    block
	RET

// func reduceNEON(q float64, inverse float64, word uint64, p *uint64, eights int)
TEXT ·reduceNEON(SB), NOSPLIT, $0-40
	FMOVD q+0(FP), F31
	FMOVD inverse+8(FP), F30
	MOVD  word+16(FP), R2
	MOVD  p+24(FP), R0
	MOVD  eights+32(FP), R1
	VDUP  V31.D[0], V31.D2
	VDUP  V30.D[0], V30.D2
	VDUP  R2, V29.D2

reduce:
	VLD1   (R0), [V0.D2, V1.D2, V2.D2, V3.D2]
	WORD   $0x6e7edc04 // fmul v4.2d, v0.2d, v30.2d
	WORD   $0x6e7edc25 // fmul v5.2d, v1.2d, v30.2d
	WORD   $0x6e7edc46 // fmul v6.2d, v2.2d, v30.2d
	WORD   $0x6e7edc67 // fmul v7.2d, v3.2d, v30.2d
	WORD   $0x4e618884 // frintn v4.2d, v4.2d
	WORD   $0x4e6188a5 // frintn v5.2d, v5.2d
	WORD   $0x4e6188c6 // frintn v6.2d, v6.2d
	WORD   $0x4e6188e7 // frintn v7.2d, v7.2d
	VFMLS  V31.D2, V4.D2, V0.D2
	VFMLS  V31.D2, V5.D2, V1.D2
	VFMLS  V31.D2, V6.D2, V2.D2
	VFMLS  V31.D2, V7.D2, V3.D2
	WORD   $0x4ee1b800 // fcvtzs v0.2d, v0.2d
	WORD   $0x4ee1b821 // fcvtzs v1.2d, v1.2d
	WORD   $0x4ee1b842 // fcvtzs v2.2d, v2.2d
	WORD   $0x4ee1b863 // fcvtzs v3.2d, v3.2d
	WORD   $0x4ee0a804 // cmlt v4.2d, v0.2d, #0
	WORD   $0x4ee0a825 // cmlt v5.2d, v1.2d, #0
	WORD   $0x4ee0a846 // cmlt v6.2d, v2.2d, #0
	WORD   $0x4ee0a867 // cmlt v7.2d, v3.2d, #0
	VAND   V29.B16, V4.B16, V4.B16
	VAND   V29.B16, V5.B16, V5.B16
	VAND   V29.B16, V6.B16, V6.B16
	VAND   V29.B16, V7.B16, V7.B16
	VADD   V4.D2, V0.D2, V0.D2
	VADD   V5.D2, V1.D2, V1.D2
	VADD   V6.D2, V2.D2, V2.D2
	VADD   V7.D2, V3.D2, V3.D2
	VST1.P [V0.D2, V1.D2, V2.D2, V3.D2], 64(R0)
	SUBS   $1, R1, R1
	BNE    reduce
	RET
