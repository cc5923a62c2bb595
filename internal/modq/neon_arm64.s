//go:build !purego

#include "textflag.h"

// A word is split into halves, w = l + h·2³². The product of two words modulo 2⁶⁴ is
//
//	l·l' + (l·h' + h·l')·2³²
//
// UMLAL adds l·l' to two 64-bit sums, and MLA adds l·h' and h·l' to four 32-bit sums, of which only the lower 32 bits
// count. LD2 separates the halves of four words as it loads them.

// func dotNEON(a *uint64, b *uint64, n int) uint64
TEXT ·dotNEON(SB), NOSPLIT, $0-32
	MOVD a+0(FP), R0
	MOVD b+8(FP), R1
	MOVD n+16(FP), R2
	VEOR V16.B16, V16.B16, V16.B16
	VEOR V17.B16, V17.B16, V17.B16
	VEOR V18.B16, V18.B16, V18.B16
	VEOR V19.B16, V19.B16, V19.B16
	VEOR V20.B16, V20.B16, V20.B16
	VEOR V21.B16, V21.B16, V21.B16
	VEOR V22.B16, V22.B16, V22.B16
	VEOR V23.B16, V23.B16, V23.B16
	AND  $7, R2, R3
	LSR  $3, R2, R2
	CBZ  R2, eights_done

eights:
	VLD2.P 32(R0), [V0.S4, V1.S4]
	VLD2.P 32(R1), [V2.S4, V3.S4]
	VLD2.P 32(R0), [V4.S4, V5.S4]
	VLD2.P 32(R1), [V6.S4, V7.S4]
	WORD   $0x2ea28010 // umlal v16.2d, v0.2s, v2.2s
	WORD   $0x6ea28011 // umlal2 v17.2d, v0.4s, v2.4s
	WORD   $0x4ea39412 // mla v18.4s, v0.4s, v3.4s
	WORD   $0x4ea29433 // mla v19.4s, v1.4s, v2.4s
	WORD   $0x2ea68094 // umlal v20.2d, v4.2s, v6.2s
	WORD   $0x6ea68095 // umlal2 v21.2d, v4.4s, v6.4s
	WORD   $0x4ea79496 // mla v22.4s, v4.4s, v7.4s
	WORD   $0x4ea694b7 // mla v23.4s, v5.4s, v6.4s
	SUBS   $1, R2, R2
	BNE    eights

eights_done:
	VADD  V20.D2, V16.D2, V16.D2
	VADD  V21.D2, V17.D2, V17.D2
	VADD  V22.S4, V18.S4, V18.S4
	VADD  V23.S4, V19.S4, V19.S4
	VADD  V17.D2, V16.D2, V16.D2
	VADD  V19.S4, V18.S4, V18.S4
	VADDP V16.D2, V16.D2, V16.D2
	VADDV V18.S4, V18
	VMOV  V16.D[0], R4
	VMOV  V18.D[0], R5
	ADD   R5<<32, R4, R4
	CBZ   R3, done

ones:
	MOVD.P 8(R0), R5
	MOVD.P 8(R1), R6
	MADD   R5, R4, R6, R4
	SUBS   $1, R3, R3
	BNE    ones

done:
	MOVD R4, ret+24(FP)
	RET

// func sumNEON(x *uint64, n int) uint64
TEXT ·sumNEON(SB), NOSPLIT, $0-24
	MOVD x+0(FP), R0
	MOVD n+8(FP), R1
	VEOR V16.B16, V16.B16, V16.B16
	VEOR V17.B16, V17.B16, V17.B16
	VEOR V18.B16, V18.B16, V18.B16
	VEOR V19.B16, V19.B16, V19.B16
	AND  $15, R1, R2
	LSR  $4, R1, R1
	CBZ  R1, sixteens_done

sixteens:
	VLD1.P 64(R0), [V0.D2, V1.D2, V2.D2, V3.D2]
	VLD1.P 64(R0), [V4.D2, V5.D2, V6.D2, V7.D2]
	VADD   V0.D2, V16.D2, V16.D2
	VADD   V1.D2, V17.D2, V17.D2
	VADD   V2.D2, V18.D2, V18.D2
	VADD   V3.D2, V19.D2, V19.D2
	VADD   V4.D2, V16.D2, V16.D2
	VADD   V5.D2, V17.D2, V17.D2
	VADD   V6.D2, V18.D2, V18.D2
	VADD   V7.D2, V19.D2, V19.D2
	SUBS   $1, R1, R1
	BNE    sixteens

sixteens_done:
	VADD  V17.D2, V16.D2, V16.D2
	VADD  V19.D2, V18.D2, V18.D2
	VADD  V18.D2, V16.D2, V16.D2
	VADDP V16.D2, V16.D2, V16.D2
	VMOV  V16.D[0], R3
	CBZ   R2, sum_done

sum_ones:
	MOVD.P 8(R0), R4
	ADD    R4, R3, R3
	SUBS   $1, R2, R2
	BNE    sum_ones

sum_done:
	MOVD R3, ret+16(FP)
	RET

// func fourNEON(dst *[4]uint64, r0 *uint64, r1 *uint64, r2 *uint64, r3 *uint64, x *uint64, n int)
TEXT ·fourNEON(SB), NOSPLIT, $0-56
	MOVD dst+0(FP), R0
	MOVD r0+8(FP), R1
	MOVD r1+16(FP), R2
	MOVD r2+24(FP), R3
	MOVD r3+32(FP), R4
	MOVD x+40(FP), R5
	MOVD n+48(FP), R6
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
	VEOR V28.B16, V28.B16, V28.B16
	VEOR V29.B16, V29.B16, V29.B16
	VEOR V30.B16, V30.B16, V30.B16
	VEOR V31.B16, V31.B16, V31.B16
	AND  $3, R6, R7
	LSR  $2, R6, R6
	CBZ  R6, fours_done

// V16 to V31 hold, for each row, two registers of 64-bit sums and two of 32-bit sums.
fours:
	VLD2.P 32(R5), [V0.S4, V1.S4]
	VLD2.P 32(R1), [V2.S4, V3.S4]
	VLD2.P 32(R2), [V4.S4, V5.S4]
	VLD2.P 32(R3), [V6.S4, V7.S4]
	VLD2.P 32(R4), [V8.S4, V9.S4]
	WORD   $0x2ea28010 // umlal v16.2d, v0.2s, v2.2s
	WORD   $0x6ea28011 // umlal2 v17.2d, v0.4s, v2.4s
	WORD   $0x4ea39412 // mla v18.4s, v0.4s, v3.4s
	WORD   $0x4ea29433 // mla v19.4s, v1.4s, v2.4s
	WORD   $0x2ea48014 // umlal v20.2d, v0.2s, v4.2s
	WORD   $0x6ea48015 // umlal2 v21.2d, v0.4s, v4.4s
	WORD   $0x4ea59416 // mla v22.4s, v0.4s, v5.4s
	WORD   $0x4ea49437 // mla v23.4s, v1.4s, v4.4s
	WORD   $0x2ea68018 // umlal v24.2d, v0.2s, v6.2s
	WORD   $0x6ea68019 // umlal2 v25.2d, v0.4s, v6.4s
	WORD   $0x4ea7941a // mla v26.4s, v0.4s, v7.4s
	WORD   $0x4ea6943b // mla v27.4s, v1.4s, v6.4s
	WORD   $0x2ea8801c // umlal v28.2d, v0.2s, v8.2s
	WORD   $0x6ea8801d // umlal2 v29.2d, v0.4s, v8.4s
	WORD   $0x4ea9941e // mla v30.4s, v0.4s, v9.4s
	WORD   $0x4ea8943f // mla v31.4s, v1.4s, v8.4s
	SUBS   $1, R6, R6
	BNE    fours

fours_done:
	VADD  V17.D2, V16.D2, V16.D2
	VADD  V19.S4, V18.S4, V18.S4
	VADDP V16.D2, V16.D2, V16.D2
	VADDV V18.S4, V18
	VMOV  V16.D[0], R8
	VMOV  V18.D[0], R12
	ADD   R12<<32, R8, R8
	VADD  V21.D2, V20.D2, V20.D2
	VADD  V23.S4, V22.S4, V22.S4
	VADDP V20.D2, V20.D2, V20.D2
	VADDV V22.S4, V22
	VMOV  V20.D[0], R9
	VMOV  V22.D[0], R12
	ADD   R12<<32, R9, R9
	VADD  V25.D2, V24.D2, V24.D2
	VADD  V27.S4, V26.S4, V26.S4
	VADDP V24.D2, V24.D2, V24.D2
	VADDV V26.S4, V26
	VMOV  V24.D[0], R10
	VMOV  V26.D[0], R12
	ADD   R12<<32, R10, R10
	VADD  V29.D2, V28.D2, V28.D2
	VADD  V31.S4, V30.S4, V30.S4
	VADDP V28.D2, V28.D2, V28.D2
	VADDV V30.S4, V30
	VMOV  V28.D[0], R11
	VMOV  V30.D[0], R12
	ADD   R12<<32, R11, R11
	CBZ   R7, four_done

four_ones:
	MOVD.P 8(R5), R12
	MOVD.P 8(R1), R13
	MADD   R12, R8, R13, R8
	MOVD.P 8(R2), R13
	MADD   R12, R9, R13, R9
	MOVD.P 8(R3), R13
	MADD   R12, R10, R13, R10
	MOVD.P 8(R4), R13
	MADD   R12, R11, R13, R11
	SUBS   $1, R7, R7
	BNE    four_ones

four_done:
	STP (R8, R9), (R0)
	STP (R10, R11), 16(R0)
	RET

// func axpyRowsNEON(alpha *[4]uint64, r0 *uint64, r1 *uint64, r2 *uint64, r3 *uint64, y *uint64, n int)
TEXT ·axpyRowsNEON(SB), NOSPLIT, $0-56
	MOVD alpha+0(FP), R0
	MOVD r0+8(FP), R1
	MOVD r1+16(FP), R2
	MOVD r2+24(FP), R3
	MOVD r3+32(FP), R4
	MOVD y+40(FP), R5
	MOVD n+48(FP), R6
	VLD1 (R0), [V0.D2, V1.D2]
	AND  $3, R6, R7
	LSR  $2, R6, R6
	CBZ  R6, axpy_done

axpy:
	VLD1   (R5), [V2.D2, V3.D2]
	VLD2.P 32(R1), [V16.S4, V17.S4]
	VLD2.P 32(R2), [V18.S4, V19.S4]
	VLD2.P 32(R3), [V20.S4, V21.S4]
	VLD2.P 32(R4), [V22.S4, V23.S4]
	WORD   $0x2f802202 // umlal v2.2d, v16.2s, v0.s[0]
	WORD   $0x6f802203 // umlal2 v3.2d, v16.4s, v0.s[0]
	WORD   $0x4fa08204 // mul v4.4s, v16.4s, v0.s[1]
	WORD   $0x6f800224 // mla v4.4s, v17.4s, v0.s[0]
	WORD   $0x2f802a42 // umlal v2.2d, v18.2s, v0.s[2]
	WORD   $0x6f802a43 // umlal2 v3.2d, v18.4s, v0.s[2]
	WORD   $0x4fa08a45 // mul v5.4s, v18.4s, v0.s[3]
	WORD   $0x6f800a65 // mla v5.4s, v19.4s, v0.s[2]
	WORD   $0x2f812282 // umlal v2.2d, v20.2s, v1.s[0]
	WORD   $0x6f812283 // umlal2 v3.2d, v20.4s, v1.s[0]
	WORD   $0x6fa10284 // mla v4.4s, v20.4s, v1.s[1]
	WORD   $0x6f8102a4 // mla v4.4s, v21.4s, v1.s[0]
	WORD   $0x2f812ac2 // umlal v2.2d, v22.2s, v1.s[2]
	WORD   $0x6f812ac3 // umlal2 v3.2d, v22.4s, v1.s[2]
	WORD   $0x6fa10ac5 // mla v5.4s, v22.4s, v1.s[3]
	WORD   $0x6f810ae5 // mla v5.4s, v23.4s, v1.s[2]
	VADD   V5.S4, V4.S4, V4.S4
	WORD   $0x2ea13886 // shll v6.2d, v4.2s, #32
	WORD   $0x6ea13887 // shll2 v7.2d, v4.4s, #32
	VADD   V6.D2, V2.D2, V2.D2
	VADD   V7.D2, V3.D2, V3.D2
	VST1.P [V2.D2, V3.D2], 32(R5)
	SUBS   $1, R6, R6
	BNE    axpy

axpy_done:
	CBZ R7, axpy_end
	LDP (R0), (R8, R9)
	LDP 16(R0), (R10, R11)

axpy_ones:
	MOVD   (R5), R12
	MOVD.P 8(R1), R13
	MADD   R13, R12, R8, R12
	MOVD.P 8(R2), R13
	MADD   R13, R12, R9, R12
	MOVD.P 8(R3), R13
	MADD   R13, R12, R10, R12
	MOVD.P 8(R4), R13
	MADD   R13, R12, R11, R12
	MOVD.P R12, 8(R5)
	SUBS   $1, R7, R7
	BNE    axpy_ones

axpy_end:
	RET

// func tile8NEON(dst *[4][8]uint64, r0 *uint64, r1 *uint64, r2 *uint64, r3 *uint64, x *uint64, n int)
TEXT ·tile8NEON(SB), NOSPLIT, $0-56
	MOVD dst+0(FP), R0
	MOVD r0+8(FP), R1
	MOVD r1+16(FP), R2
	MOVD r2+24(FP), R3
	MOVD r3+32(FP), R4
	MOVD x+40(FP), R5
	MOVD n+48(FP), R6
	VEOR V8.B16, V8.B16, V8.B16
	VEOR V9.B16, V9.B16, V9.B16
	VEOR V10.B16, V10.B16, V10.B16
	VEOR V11.B16, V11.B16, V11.B16
	VEOR V12.B16, V12.B16, V12.B16
	VEOR V13.B16, V13.B16, V13.B16
	VEOR V14.B16, V14.B16, V14.B16
	VEOR V15.B16, V15.B16, V15.B16
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
	VEOR V28.B16, V28.B16, V28.B16
	VEOR V29.B16, V29.B16, V29.B16
	VEOR V30.B16, V30.B16, V30.B16
	VEOR V31.B16, V31.B16, V31.B16
	AND  $1, R6, R7
	LSR  $1, R6, R6
	CBZ  R6, pairs_done

// V4 to V7 hold two words of each row, and V8 to V31, for each row, four registers of 64-bit sums and two of 32-bit sums.
pairs:
	FMOVQ.P 16(R1), F4
	FMOVQ.P 16(R2), F5
	FMOVQ.P 16(R3), F6
	FMOVQ.P 16(R4), F7
	VLD2.P  32(R5), [V0.S4, V1.S4]
	VLD2.P  32(R5), [V2.S4, V3.S4]
	WORD    $0x2f842008 // umlal v8.2d, v0.2s, v4.s[0]
	WORD    $0x6f842009 // umlal2 v9.2d, v0.4s, v4.s[0]
	WORD    $0x2f84204a // umlal v10.2d, v2.2s, v4.s[0]
	WORD    $0x6f84204b // umlal2 v11.2d, v2.4s, v4.s[0]
	WORD    $0x6fa4000c // mla v12.4s, v0.4s, v4.s[1]
	WORD    $0x6fa4004d // mla v13.4s, v2.4s, v4.s[1]
	WORD    $0x2f85200e // umlal v14.2d, v0.2s, v5.s[0]
	WORD    $0x6f85200f // umlal2 v15.2d, v0.4s, v5.s[0]
	WORD    $0x2f852050 // umlal v16.2d, v2.2s, v5.s[0]
	WORD    $0x6f852051 // umlal2 v17.2d, v2.4s, v5.s[0]
	WORD    $0x6fa50012 // mla v18.4s, v0.4s, v5.s[1]
	WORD    $0x6fa50053 // mla v19.4s, v2.4s, v5.s[1]
	WORD    $0x2f862014 // umlal v20.2d, v0.2s, v6.s[0]
	WORD    $0x6f862015 // umlal2 v21.2d, v0.4s, v6.s[0]
	WORD    $0x2f862056 // umlal v22.2d, v2.2s, v6.s[0]
	WORD    $0x6f862057 // umlal2 v23.2d, v2.4s, v6.s[0]
	WORD    $0x6fa60018 // mla v24.4s, v0.4s, v6.s[1]
	WORD    $0x6fa60059 // mla v25.4s, v2.4s, v6.s[1]
	WORD    $0x2f87201a // umlal v26.2d, v0.2s, v7.s[0]
	WORD    $0x6f87201b // umlal2 v27.2d, v0.4s, v7.s[0]
	WORD    $0x2f87205c // umlal v28.2d, v2.2s, v7.s[0]
	WORD    $0x6f87205d // umlal2 v29.2d, v2.4s, v7.s[0]
	WORD    $0x6fa7001e // mla v30.4s, v0.4s, v7.s[1]
	WORD    $0x6fa7005f // mla v31.4s, v2.4s, v7.s[1]
	WORD    $0x6f84002c // mla v12.4s, v1.4s, v4.s[0]
	WORD    $0x6f84006d // mla v13.4s, v3.4s, v4.s[0]
	WORD    $0x6f850032 // mla v18.4s, v1.4s, v5.s[0]
	WORD    $0x6f850073 // mla v19.4s, v3.4s, v5.s[0]
	WORD    $0x6f860038 // mla v24.4s, v1.4s, v6.s[0]
	WORD    $0x6f860079 // mla v25.4s, v3.4s, v6.s[0]
	WORD    $0x6f87003e // mla v30.4s, v1.4s, v7.s[0]
	WORD    $0x6f87007f // mla v31.4s, v3.4s, v7.s[0]
	VLD2.P  32(R5), [V0.S4, V1.S4]
	VLD2.P  32(R5), [V2.S4, V3.S4]
	WORD    $0x2f842808 // umlal v8.2d, v0.2s, v4.s[2]
	WORD    $0x6f842809 // umlal2 v9.2d, v0.4s, v4.s[2]
	WORD    $0x2f84284a // umlal v10.2d, v2.2s, v4.s[2]
	WORD    $0x6f84284b // umlal2 v11.2d, v2.4s, v4.s[2]
	WORD    $0x6fa4080c // mla v12.4s, v0.4s, v4.s[3]
	WORD    $0x6fa4084d // mla v13.4s, v2.4s, v4.s[3]
	WORD    $0x2f85280e // umlal v14.2d, v0.2s, v5.s[2]
	WORD    $0x6f85280f // umlal2 v15.2d, v0.4s, v5.s[2]
	WORD    $0x2f852850 // umlal v16.2d, v2.2s, v5.s[2]
	WORD    $0x6f852851 // umlal2 v17.2d, v2.4s, v5.s[2]
	WORD    $0x6fa50812 // mla v18.4s, v0.4s, v5.s[3]
	WORD    $0x6fa50853 // mla v19.4s, v2.4s, v5.s[3]
	WORD    $0x2f862814 // umlal v20.2d, v0.2s, v6.s[2]
	WORD    $0x6f862815 // umlal2 v21.2d, v0.4s, v6.s[2]
	WORD    $0x2f862856 // umlal v22.2d, v2.2s, v6.s[2]
	WORD    $0x6f862857 // umlal2 v23.2d, v2.4s, v6.s[2]
	WORD    $0x6fa60818 // mla v24.4s, v0.4s, v6.s[3]
	WORD    $0x6fa60859 // mla v25.4s, v2.4s, v6.s[3]
	WORD    $0x2f87281a // umlal v26.2d, v0.2s, v7.s[2]
	WORD    $0x6f87281b // umlal2 v27.2d, v0.4s, v7.s[2]
	WORD    $0x2f87285c // umlal v28.2d, v2.2s, v7.s[2]
	WORD    $0x6f87285d // umlal2 v29.2d, v2.4s, v7.s[2]
	WORD    $0x6fa7081e // mla v30.4s, v0.4s, v7.s[3]
	WORD    $0x6fa7085f // mla v31.4s, v2.4s, v7.s[3]
	WORD    $0x6f84082c // mla v12.4s, v1.4s, v4.s[2]
	WORD    $0x6f84086d // mla v13.4s, v3.4s, v4.s[2]
	WORD    $0x6f850832 // mla v18.4s, v1.4s, v5.s[2]
	WORD    $0x6f850873 // mla v19.4s, v3.4s, v5.s[2]
	WORD    $0x6f860838 // mla v24.4s, v1.4s, v6.s[2]
	WORD    $0x6f860879 // mla v25.4s, v3.4s, v6.s[2]
	WORD    $0x6f87083e // mla v30.4s, v1.4s, v7.s[2]
	WORD    $0x6f87087f // mla v31.4s, v3.4s, v7.s[2]
	SUBS    $1, R6, R6
	BNE     pairs

pairs_done:
	CBZ    R7, tile_done
	FMOVD  (R1), F4
	FMOVD  (R2), F5
	FMOVD  (R3), F6
	FMOVD  (R4), F7
	VLD2.P 32(R5), [V0.S4, V1.S4]
	VLD2.P 32(R5), [V2.S4, V3.S4]
	WORD   $0x2f842008 // umlal v8.2d, v0.2s, v4.s[0]
	WORD   $0x6f842009 // umlal2 v9.2d, v0.4s, v4.s[0]
	WORD   $0x2f84204a // umlal v10.2d, v2.2s, v4.s[0]
	WORD   $0x6f84204b // umlal2 v11.2d, v2.4s, v4.s[0]
	WORD   $0x6fa4000c // mla v12.4s, v0.4s, v4.s[1]
	WORD   $0x6fa4004d // mla v13.4s, v2.4s, v4.s[1]
	WORD   $0x2f85200e // umlal v14.2d, v0.2s, v5.s[0]
	WORD   $0x6f85200f // umlal2 v15.2d, v0.4s, v5.s[0]
	WORD   $0x2f852050 // umlal v16.2d, v2.2s, v5.s[0]
	WORD   $0x6f852051 // umlal2 v17.2d, v2.4s, v5.s[0]
	WORD   $0x6fa50012 // mla v18.4s, v0.4s, v5.s[1]
	WORD   $0x6fa50053 // mla v19.4s, v2.4s, v5.s[1]
	WORD   $0x2f862014 // umlal v20.2d, v0.2s, v6.s[0]
	WORD   $0x6f862015 // umlal2 v21.2d, v0.4s, v6.s[0]
	WORD   $0x2f862056 // umlal v22.2d, v2.2s, v6.s[0]
	WORD   $0x6f862057 // umlal2 v23.2d, v2.4s, v6.s[0]
	WORD   $0x6fa60018 // mla v24.4s, v0.4s, v6.s[1]
	WORD   $0x6fa60059 // mla v25.4s, v2.4s, v6.s[1]
	WORD   $0x2f87201a // umlal v26.2d, v0.2s, v7.s[0]
	WORD   $0x6f87201b // umlal2 v27.2d, v0.4s, v7.s[0]
	WORD   $0x2f87205c // umlal v28.2d, v2.2s, v7.s[0]
	WORD   $0x6f87205d // umlal2 v29.2d, v2.4s, v7.s[0]
	WORD   $0x6fa7001e // mla v30.4s, v0.4s, v7.s[1]
	WORD   $0x6fa7005f // mla v31.4s, v2.4s, v7.s[1]
	WORD   $0x6f84002c // mla v12.4s, v1.4s, v4.s[0]
	WORD   $0x6f84006d // mla v13.4s, v3.4s, v4.s[0]
	WORD   $0x6f850032 // mla v18.4s, v1.4s, v5.s[0]
	WORD   $0x6f850073 // mla v19.4s, v3.4s, v5.s[0]
	WORD   $0x6f860038 // mla v24.4s, v1.4s, v6.s[0]
	WORD   $0x6f860079 // mla v25.4s, v3.4s, v6.s[0]
	WORD   $0x6f87003e // mla v30.4s, v1.4s, v7.s[0]
	WORD   $0x6f87007f // mla v31.4s, v3.4s, v7.s[0]

tile_done:
	WORD   $0x2ea13980 // shll v0.2d, v12.2s, #32
	WORD   $0x6ea13981 // shll2 v1.2d, v12.4s, #32
	VADD   V0.D2, V8.D2, V8.D2
	VADD   V1.D2, V9.D2, V9.D2
	WORD   $0x2ea139a0 // shll v0.2d, v13.2s, #32
	WORD   $0x6ea139a1 // shll2 v1.2d, v13.4s, #32
	VADD   V0.D2, V10.D2, V10.D2
	VADD   V1.D2, V11.D2, V11.D2
	VST1.P [V8.D2, V9.D2, V10.D2, V11.D2], 64(R0)
	WORD   $0x2ea13a40 // shll v0.2d, v18.2s, #32
	WORD   $0x6ea13a41 // shll2 v1.2d, v18.4s, #32
	VADD   V0.D2, V14.D2, V14.D2
	VADD   V1.D2, V15.D2, V15.D2
	WORD   $0x2ea13a60 // shll v0.2d, v19.2s, #32
	WORD   $0x6ea13a61 // shll2 v1.2d, v19.4s, #32
	VADD   V0.D2, V16.D2, V16.D2
	VADD   V1.D2, V17.D2, V17.D2
	VST1.P [V14.D2, V15.D2, V16.D2, V17.D2], 64(R0)
	WORD   $0x2ea13b00 // shll v0.2d, v24.2s, #32
	WORD   $0x6ea13b01 // shll2 v1.2d, v24.4s, #32
	VADD   V0.D2, V20.D2, V20.D2
	VADD   V1.D2, V21.D2, V21.D2
	WORD   $0x2ea13b20 // shll v0.2d, v25.2s, #32
	WORD   $0x6ea13b21 // shll2 v1.2d, v25.4s, #32
	VADD   V0.D2, V22.D2, V22.D2
	VADD   V1.D2, V23.D2, V23.D2
	VST1.P [V20.D2, V21.D2, V22.D2, V23.D2], 64(R0)
	WORD   $0x2ea13bc0 // shll v0.2d, v30.2s, #32
	WORD   $0x6ea13bc1 // shll2 v1.2d, v30.4s, #32
	VADD   V0.D2, V26.D2, V26.D2
	VADD   V1.D2, V27.D2, V27.D2
	WORD   $0x2ea13be0 // shll v0.2d, v31.2s, #32
	WORD   $0x6ea13be1 // shll2 v1.2d, v31.4s, #32
	VADD   V0.D2, V28.D2, V28.D2
	VADD   V1.D2, V29.D2, V29.D2
	VST1.P [V26.D2, V27.D2, V28.D2, V29.D2], 64(R0)
	RET
