package simulate
import ("testing";"fmt";"os";"strings";"strconv";"sort";"time")
func arr(t *testing.T) []float64 { b,_:=os.ReadFile("/tmp/simflags/exp.txt"); var r []float64; for _,l:=range strings.Fields(string(b)){f,_:=strconv.ParseFloat(l,64); r=append(r,f)}; return r}
func q(x []float64,p float64) float64 { s:=append([]float64{},x...); sort.Float64s(s); i:=p*float64(len(s)-1); k:=int(i); if k+1>=len(s){return s[k]}; return s[k]+(i-float64(k))*(s[k+1]-s[k])}
func mean(x []float64) float64 { s:=0.0; for _,v:=range x {s+=v}; return s/float64(len(x))}
func TestCalib(t *testing.T){
 p,_:=ProfileByName("a10"); sh,_:=ShapeOf("Qwen/Qwen2.5-7B-Instruct-GPTQ-Int4")
 if s:=os.Getenv("FL");s!=""{p.FLOPs,_=strconv.ParseFloat(s,64)}
 if s:=os.Getenv("AF");s!=""{p.AttentionFLOPs,_=strconv.ParseFloat(s,64)}
 if s:=os.Getenv("PO");s!=""{f,_:=strconv.ParseFloat(s,64);p.PrefillOverhead=seconds(f)}
 exp:=arr(t)
 for _,c:=range []struct{in int;rate float64}{{1011,2},{245,2},{245,4},{245,6},{245,8}} {
 for _,ch:=range []bool{false,true}{
  cfg:=Config{Profile:p,Shape:sh,GPUs:1,BlockSize:16,MaxSeqs:256,Budget:32768,MaxModelLen:10000,Watermark:.01,Chunked:ch,Mixed:ch}
  cfg.KVBlocks=KVBlocksFor(p,sh,1,.9,16)
  if ch {cfg.Budget=512}
  var as []Arrival; at:=0.0
  for i:=0;i<200;i++{ as=append(as,Arrival{At:seconds(at),Input:c.in-12+(i*7)%25,Output:6}); at+=exp[i]/c.rate+0.0018}
  tl,err:=Model{cfg}.Replay(as,1); if err!=nil{t.Fatal(err)}
  var tt,tp,it []float64
  ms:=func(d time.Duration)float64{return float64(d)/1e6}
  for _,x:=range tl { tt=append(tt,ms(x.FirstToken()-x.Arrival)); tp=append(tp,ms(x.Tokens[5]-x.Tokens[0])/5); for i:=1;i<6;i++{it=append(it,ms(x.Tokens[i]-x.Tokens[i-1]))}}
  fmt.Printf("%d %g %5v ttft %.1f %.1f %.1f tpot %.1f %.1f %.1f itl %.1f %.1f %.1f\n",c.in,c.rate,ch,mean(tt),q(tt,.5),q(tt,.99),mean(tp),q(tp,.5),q(tp,.99),mean(it),q(it,.5),q(it,.99))
 }}
}
