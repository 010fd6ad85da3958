package trend
import ("testing";"math/rand/v2";"math";"fmt";"slices")
func detectW(x []float64, least, perms int, alpha float64, maxPhi float64, rng *rand.Rand) []int {
	cuts := []int{0, len(x)}
	sc := newScanner(len(x), least)
	bestOf := func(y []float64, cuts []int) (split,int) {
		top, seg := split{q: math.Inf(-1)}, 0
		for i := 0; i+1 < len(cuts); i++ {
			if b := sc.best(y[cuts[i]:cuts[i+1]]); b.q > top.q { top, seg = b, i }
		}
		return top,seg
	}
	for {
		top,seg := bestOf(x,cuts)
		if math.IsInf(top.q, -1) { return cuts[1 : len(cuts)-1] }
		cand := slices.Insert(slices.Clone(cuts), seg+1, cuts[seg]+top.at)
		{ bf:=0.0; for i:=0;i+1<len(cuts);i++ { if cuts[i+1]-cuts[i]<2*least {continue}; at,f:=gls(x[cuts[i]:cuts[i+1]],GP,least); if f>bf {bf=f; cand=slices.Insert(slices.Clone(cuts), i+1, cuts[i]+at)}}}
		phi := math.Min(maxPhi, math.Max(0, autocorr(x, cand)))
		e:=make([]float64,len(x))
		for i := 0; i+1 < len(cuts); i++ {
			m:=mean(x[cuts[i]:cuts[i+1]])
			for t := cuts[i]; t < cuts[i+1]; t++ {
				if t==cuts[i] { e[t]=math.Sqrt(1-phi*phi)*(x[t]-m) } else { e[t]=x[t]-m-phi*(x[t-1]-m) }
			}
		}
		wtop,wseg:=bestOf(e,cuts)
		b:=0
		lim := int(alpha*float64(perms+1)+1e-9) - 1
		y:=slices.Clone(e)
		for r:=0;r<perms&&b<=lim;r++{
			for i := 0; i+1 < len(cuts); i++ {
				s := y[cuts[i]:cuts[i+1]]
				rng.Shuffle(len(s), func(a, b int) { s[a], s[b] = s[b], s[a] })
			}
			if p,_:=bestOf(y,cuts); p.q>=wtop.q {b++}
		}
		if b>lim { return cuts[1 : len(cuts)-1] }
		cuts=slices.Insert(slices.Clone(cuts), wseg+1, cuts[wseg]+wtop.at)
	}
}
var GP = 0.3
func TestExp2(t *testing.T){
 for _,GP=range []float64{0.3,0.5}{
 for _,corr:=range []float64{0.5,1}{ Corr=corr
 for _,phi:=range []float64{0,.5}{
  rng:=rand.New(rand.NewPCG(7,7)); N:=400
  fa:=0; for range N { if len(detectW(ar(rng,90,phi,.02),3,99,.05,.9,rng))>0{fa++}}
  p5,p10,any5:=0,0,0
  for range N { x:=ar(rng,65,phi,.02); for i:=60;i<65;i++{x[i]+=math.Log(1.05)}; cs:=detectW(x,3,99,.05,.9,rng); if len(cs)>0{any5++}; for _,c:=range cs{ if c>=59&&c<=61{p5++;break}}}
  for range N { x:=ar(rng,63,phi,.02); for i:=60;i<63;i++{x[i]+=math.Log(1.10)}; for _,c:=range detectW(x,3,99,.05,.9,rng){ if c>=59&&c<=61{p10++;break}}}
  fmt.Printf("keep W corr %v phi %v: FA %.3f, +5%% by 5: %.3f (any %.3f), +10%% by 3: %.3f\n",corr,phi,float64(fa)/float64(N),float64(p5)/float64(N),float64(any5)/float64(N),float64(p10)/float64(N))
 }}}
}
