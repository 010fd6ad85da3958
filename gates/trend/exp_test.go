package trend
import ("testing";"math/rand/v2";"math";"fmt")
func ar(rng *rand.Rand,T int,phi,sd float64)[]float64{ x:=make([]float64,T); c:=rng.NormFloat64(); for i:=range x{ if i>0 {c=phi*c+math.Sqrt(1-phi*phi)*rng.NormFloat64()}; x[i]=sd*c}; return x}
func TestExp(t *testing.T){
 for _,keep:=range []bool{true,false}{ Keep=keep
 for _,corr:=range []float64{0,1,1.5}{ Corr=corr
 for _,phi:=range []float64{0,.5}{
  rng:=rand.New(rand.NewPCG(7,7)); N:=300
  fa:=0; for range N { if len(detect(ar(rng,90,phi,.02),3,99,.05,.9,rng))>0{fa++}}
  p5,p10:=0,0
  for range N { x:=ar(rng,65,phi,.02); for i:=60;i<65;i++{x[i]+=math.Log(1.05)}; for _,c:=range detect(x,3,99,.05,.9,rng){ if c>=59&&c<=61{p5++;break}}}
  for range N { x:=ar(rng,63,phi,.02); for i:=60;i<63;i++{x[i]+=math.Log(1.10)}; for _,c:=range detect(x,3,99,.05,.9,rng){ if c>=59&&c<=61{p10++;break}}}
  fmt.Printf("keep %v corr %v phi %v: FA %.3f, +5%% by 5: %.3f, +10%% by 3: %.3f\n",keep,corr,phi,float64(fa)/float64(N),float64(p5)/float64(N),float64(p10)/float64(N))
 }}}
}
