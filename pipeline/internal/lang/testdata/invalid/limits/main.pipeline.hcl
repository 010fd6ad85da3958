# What is valid in form and too much of it.

server "vllm" "s0" {
  extends = server.vllm.s1
}

server "vllm" "s1" {
  extends = server.vllm.s2
}

server "vllm" "s2" {
  extends = server.vllm.s3
}

server "vllm" "s3" {
  extends = server.vllm.s4
}

server "vllm" "s4" {
  extends = server.vllm.s5
}

server "vllm" "s5" {
  extends = server.vllm.s6
}

server "vllm" "s6" {
  extends = server.vllm.s7
}

server "vllm" "s7" {
  extends = server.vllm.s8
}

server "vllm" "s8" {
  extends = server.vllm.s9
}

server "vllm" "s9" {
  extends = server.vllm.s10
}

server "vllm" "s10" {
  extends = server.vllm.s11
}

server "vllm" "s11" {
  extends = server.vllm.s12
}

server "vllm" "s12" {
  extends = server.vllm.s13
}

server "vllm" "s13" {
  extends = server.vllm.s14
}

server "vllm" "s14" {
  extends = server.vllm.s15
}

server "vllm" "s15" {
  extends = server.vllm.s16
}

server "vllm" "s16" {
  extends = server.vllm.s17
}

server "vllm" "s17" {
  extends = server.vllm.s18
}

server "vllm" "s18" {
  extends = server.vllm.s19
}

server "vllm" "s19" {
  extends = server.vllm.s20
}

server "vllm" "s20" {
  extends = server.vllm.s21
}

server "vllm" "s21" {
  extends = server.vllm.s22
}

server "vllm" "s22" {
  extends = server.vllm.s23
}

server "vllm" "s23" {
  extends = server.vllm.s24
}

server "vllm" "s24" {
  extends = server.vllm.s25
}

server "vllm" "s25" {
  abstract   = true
  executable = "vllm"
  model      = "m"
}

locals {
  x0 = "0123456789abcdef"
  x1 = "${local.x0}${local.x0}"
  x2 = "${local.x1}${local.x1}"
  x3 = "${local.x2}${local.x2}"
  x4 = "${local.x3}${local.x3}"
  x5 = "${local.x4}${local.x4}"
  x6 = "${local.x5}${local.x5}"
  x7 = "${local.x6}${local.x6}"
  x8 = "${local.x7}${local.x7}"
  x9 = "${local.x8}${local.x8}"
  x10 = "${local.x9}${local.x9}"
  x11 = "${local.x10}${local.x10}"
  x12 = "${local.x11}${local.x11}"
  x13 = "${local.x12}${local.x12}"
  x14 = "${local.x13}${local.x13}"
  x15 = "${local.x14}${local.x14}"
  x16 = "${local.x15}${local.x15}"
  x17 = "${local.x16}${local.x16}"
  x18 = "${local.x17}${local.x17}"
  x19 = "${local.x18}${local.x18}"
  x20 = "${local.x19}${local.x19}"
  x21 = "${local.x20}${local.x20}"
  x22 = "${local.x21}${local.x21}"
  x23 = "${local.x22}${local.x22}"
  x24 = "${local.x23}${local.x23}"
  x25 = "${local.x24}${local.x24}"
  x26 = "${local.x25}${local.x25}"
  x27 = "${local.x26}${local.x26}"
  x28 = "${local.x27}${local.x27}"
  x29 = "${local.x28}${local.x28}"
  x30 = "${local.x29}${local.x29}"
  x31 = "${local.x30}${local.x30}"
  x32 = "${local.x31}${local.x31}"
  x33 = "${local.x32}${local.x32}"
  x34 = "${local.x33}${local.x33}"
  x35 = "${local.x34}${local.x34}"
  x36 = "${local.x35}${local.x35}"
  x37 = "${local.x36}${local.x36}"
  x38 = "${local.x37}${local.x37}"
  x39 = "${local.x38}${local.x38}"
  x40 = "${local.x39}${local.x39}"
}

locals {
  r0 = local.r1
  r1 = local.r2
  r2 = local.r3
  r3 = local.r4
  r4 = local.r5
  r5 = local.r6
  r6 = local.r7
  r7 = local.r8
  r8 = local.r9
  r9 = local.r10
  r10 = local.r11
  r11 = local.r12
  r12 = local.r13
  r13 = local.r14
  r14 = local.r15
  r15 = local.r16
  r16 = local.r17
  r17 = local.r18
  r18 = local.r19
  r19 = local.r20
  r20 = local.r21
  r21 = local.r22
  r22 = local.r23
  r23 = local.r24
  r24 = local.r25
  r25 = local.r26
  r26 = local.r27
  r27 = local.r28
  r28 = local.r29
  r29 = local.r30
  r30 = local.r31
  r31 = local.r32
  r32 = local.r33
  r33 = local.r34
  r34 = local.r35
  r35 = local.r36
  r36 = local.r37
  r37 = local.r38
  r38 = local.r39
  r39 = local.r0
}
