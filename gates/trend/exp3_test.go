package trend
import ("testing";"math/rand/v2";"math";"fmt")
// GLS scan: max over tau of |delta|/se with segments [0,tau),[tau,k) k = T only, phi given
func gls(x []float64, phi float64, least int) (int,float64){
 T:=len(x); best,at:=0.0,-1
 w:=math.Sqrt(1-phi*phi)
 y:=make([]float64,T); one:=make([]float64,T)
 y[0]=w*x[0]; one[0]=w
 for t:=1;t<T;t++{ y[t]=x[t]-phi*x[t-1]; one[t]=1-phi}
 var oo,oy,yy float64
 for t:=range y{ oo+=one[t]*one[t]; oy+=one[t]*y[t]; yy+=y[t]*y[t]}
 for tau:=least;tau<=T-least;tau++{
  var os,ss,sy float64
  for t:=tau;t<T;t++{ s:=1-phi; if t==tau {s=1}; os+=s*one[t]; ss+=s*s; sy+=s*y[t]}
  d:=(sy-os*oy/oo)/(ss-os*os/oo)
  z:=d*d*(ss-os*os/oo)
  res:=(yy-oy*oy/oo-z)/float64(T-2)
  f:=z/res
  if f>best{best,at=f,tau}
 }
 return at,best
}
func TestExp3(t *testing.T){
 for _,oracle:=range []bool{true,false}{
 for _,phi:=range []float64{0,.5}{
  rng:=rand.New(rand.NewPCG(9,9)); N:=400; R:=99
  run:=func(x []float64) int {
   ph:=phi
   if !oracle { at,_:=gls(x,.3,3); ph=math.Max(0,math.Min(.9,autocorr(x,[]int{0,at,len(x)}))) }
   at,f:=gls(x,ph,3)
   b:=0
   for r:=0;r<R&&b<5;r++{ if _,g:=gls(ar(rng,len(x),ph,1),ph,3);g>=f{b++}}
   if b>=5 {return -1}
   return at
  }
  fa,p5,p10:=0,0,0
  Corr=1
  for range N { if run(ar(rng,90,phi,.02))>=0{fa++}}
  for range N { x:=ar(rng,65,phi,.02); for i:=60;i<65;i++{x[i]+=math.Log(1.05)}; if c:=run(x);c>=59&&c<=61{p5++}}
  for range N { x:=ar(rng,63,phi,.02); for i:=60;i<63;i++{x[i]+=math.Log(1.10)};  if c:=run(x);c>=59&&c<=61{p10++}}
  fmt.Printf("GLS oracle %v phi %v: FA %.3f, +5%% by 5: %.3f, +10%% by 3: %.3f\n",oracle,phi,float64(fa)/float64(N),float64(p5)/float64(N),float64(p10)/float64(N))
 }}
}
