//go:build !purego

#include "textflag.h"

// LD2 separates the real and imaginary parts of two values, and ST2 joins them.

// func pass4Vector(x *complex128, y *complex128, twiddles *complex128, done int, stride int)
TEXT ·pass4Vector(SB), NOSPLIT, $0-40
	MOVD x+0(FP), R0
	MOVD y+8(FP), R4
	MOVD twiddles+16(FP), R8
	MOVD done+24(FP), R9
	MOVD stride+32(FP), R10
	LSL  $4, R10, R11
	MUL  R11, R9, R12
	ADD  R12, R4, R5
	ADD  R12, R5, R6
	ADD  R12, R6, R7

pass4:
	ADD     R11, R0, R1
	ADD     R11, R1, R2
	ADD     R11, R2, R3
	VLD1R.P 8(R8), [V24.D2]
	VLD1R.P 8(R8), [V25.D2]
	VLD1R.P 8(R8), [V26.D2]
	VLD1R.P 8(R8), [V27.D2]
	VLD1R.P 8(R8), [V28.D2]
	VLD1R.P 8(R8), [V29.D2]
	LSR     $1, R10, R14

// V24 and up hold the factors, V8 and up the products with them.
two4:
	VLD2.P 32(R0), [V0.D2, V1.D2]
	VLD2.P 32(R1), [V2.D2, V3.D2]
	VLD2.P 32(R2), [V4.D2, V5.D2]
	VLD2.P 32(R3), [V6.D2, V7.D2]
	WORD   $0x6e78dc48 // fmul v8.2d, v2.2d, v24.2d
	WORD   $0x6e79dc49 // fmul v9.2d, v2.2d, v25.2d
	VFMLS  V25.D2, V3.D2, V8.D2
	VFMLA  V24.D2, V3.D2, V9.D2
	WORD   $0x6e7adc8a // fmul v10.2d, v4.2d, v26.2d
	WORD   $0x6e7bdc8b // fmul v11.2d, v4.2d, v27.2d
	VFMLS  V27.D2, V5.D2, V10.D2
	VFMLA  V26.D2, V5.D2, V11.D2
	WORD   $0x6e7cdccc // fmul v12.2d, v6.2d, v28.2d
	WORD   $0x6e7ddccd // fmul v13.2d, v6.2d, v29.2d
	VFMLS  V29.D2, V7.D2, V12.D2
	VFMLA  V28.D2, V7.D2, V13.D2
	WORD   $0x4e6ad40e // fadd v14.2d, v0.2d, v10.2d
	WORD   $0x4e6bd42f // fadd v15.2d, v1.2d, v11.2d
	WORD   $0x4e6cd510 // fadd v16.2d, v8.2d, v12.2d
	WORD   $0x4e6dd531 // fadd v17.2d, v9.2d, v13.2d
	WORD   $0x4eead412 // fsub v18.2d, v0.2d, v10.2d
	WORD   $0x4eebd433 // fsub v19.2d, v1.2d, v11.2d
	WORD   $0x4eecd514 // fsub v20.2d, v8.2d, v12.2d
	WORD   $0x4eedd535 // fsub v21.2d, v9.2d, v13.2d
	WORD   $0x4e70d5c0 // fadd v0.2d, v14.2d, v16.2d
	WORD   $0x4e71d5e1 // fadd v1.2d, v15.2d, v17.2d
	WORD   $0x4ef5d642 // fsub v2.2d, v18.2d, v21.2d
	WORD   $0x4e74d663 // fadd v3.2d, v19.2d, v20.2d
	WORD   $0x4ef0d5c4 // fsub v4.2d, v14.2d, v16.2d
	WORD   $0x4ef1d5e5 // fsub v5.2d, v15.2d, v17.2d
	WORD   $0x4e75d646 // fadd v6.2d, v18.2d, v21.2d
	WORD   $0x4ef4d667 // fsub v7.2d, v19.2d, v20.2d
	VST2.P [V0.D2, V1.D2], 32(R4)
	VST2.P [V2.D2, V3.D2], 32(R5)
	VST2.P [V4.D2, V5.D2], 32(R6)
	VST2.P [V6.D2, V7.D2], 32(R7)
	SUBS   $1, R14, R14
	BNE    two4
	MOVD   R3, R0
	SUBS   $1, R9, R9
	BNE    pass4
	RET

// func pass3Vector(x *complex128, y *complex128, twiddles *complex128, done int, stride int)
TEXT ·pass3Vector(SB), NOSPLIT, $0-40
	MOVD  x+0(FP), R0
	MOVD  y+8(FP), R4
	MOVD  twiddles+16(FP), R8
	MOVD  done+24(FP), R9
	MOVD  stride+32(FP), R10
	LSL   $4, R10, R11
	MUL   R11, R9, R12
	ADD   R12, R4, R5
	ADD   R12, R5, R6
	FMOVD $0.5, F30
	VDUP  V30.D[0], V30.D2
	MOVD  $0x3febb67ae8584caa, R13 // sin 60°
	VDUP  R13, V31.D2

pass3:
	ADD     R11, R0, R1
	ADD     R11, R1, R2
	VLD1R.P 8(R8), [V24.D2]
	VLD1R.P 8(R8), [V25.D2]
	VLD1R.P 8(R8), [V26.D2]
	VLD1R.P 8(R8), [V27.D2]
	LSR     $1, R10, R14

// V24 and up hold the factors, V8 and up the products with them.
two3:
	VLD2.P 32(R0), [V0.D2, V1.D2]
	VLD2.P 32(R1), [V2.D2, V3.D2]
	VLD2.P 32(R2), [V4.D2, V5.D2]
	WORD   $0x6e78dc48 // fmul v8.2d, v2.2d, v24.2d
	WORD   $0x6e79dc49 // fmul v9.2d, v2.2d, v25.2d
	VFMLS  V25.D2, V3.D2, V8.D2
	VFMLA  V24.D2, V3.D2, V9.D2
	WORD   $0x6e7adc8a // fmul v10.2d, v4.2d, v26.2d
	WORD   $0x6e7bdc8b // fmul v11.2d, v4.2d, v27.2d
	VFMLS  V27.D2, V5.D2, V10.D2
	VFMLA  V26.D2, V5.D2, V11.D2
	WORD   $0x4e6ad50e // fadd v14.2d, v8.2d, v10.2d
	WORD   $0x4e6bd52f // fadd v15.2d, v9.2d, v11.2d
	WORD   $0x4eead514 // fsub v20.2d, v8.2d, v10.2d
	WORD   $0x4eebd535 // fsub v21.2d, v9.2d, v11.2d
	VORR   V0.B16, V0.B16, V2.B16
	VORR   V1.B16, V1.B16, V3.B16
	VFMLS  V30.D2, V14.D2, V2.D2
	VFMLS  V30.D2, V15.D2, V3.D2
	WORD   $0x4e6ed400 // fadd v0.2d, v0.2d, v14.2d
	WORD   $0x4e6fd421 // fadd v1.2d, v1.2d, v15.2d
	VORR   V2.B16, V2.B16, V4.B16
	VORR   V3.B16, V3.B16, V5.B16
	VFMLS  V31.D2, V21.D2, V2.D2
	VFMLA  V31.D2, V20.D2, V3.D2
	VFMLA  V31.D2, V21.D2, V4.D2
	VFMLS  V31.D2, V20.D2, V5.D2
	VST2.P [V0.D2, V1.D2], 32(R4)
	VST2.P [V2.D2, V3.D2], 32(R5)
	VST2.P [V4.D2, V5.D2], 32(R6)
	SUBS   $1, R14, R14
	BNE    two3
	MOVD   R2, R0
	SUBS   $1, R9, R9
	BNE    pass3
	RET

// func scaleVector(dst *complex128, src *complex128, by *float64, rows int, ld int)
TEXT ·scaleVector(SB), NOSPLIT, $0-40
	MOVD dst+0(FP), R0
	MOVD src+8(FP), R1
	MOVD by+16(FP), R2
	MOVD rows+24(FP), R3
	MOVD ld+32(FP), R4
	LSL  $3, R4, R5
	LSL  $4, R4, R6

scale:
	VLD1   (R1), [V0.D2, V1.D2, V2.D2, V3.D2]
	VLD1   (R2), [V4.D2, V5.D2]
	ADD    R6, R1, R1
	ADD    R5, R2, R2
	WORD   $0x4fc49000 // fmul v0.2d, v0.2d, v4.d[0]
	WORD   $0x4fc49821 // fmul v1.2d, v1.2d, v4.d[1]
	WORD   $0x4fc59042 // fmul v2.2d, v2.2d, v5.d[0]
	WORD   $0x4fc59863 // fmul v3.2d, v3.2d, v5.d[1]
	VST1.P [V0.D2, V1.D2, V2.D2, V3.D2], 64(R0)
	SUBS   $1, R3, R3
	BNE    scale
	RET
