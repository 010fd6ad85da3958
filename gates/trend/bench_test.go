package trend
import ("testing";"math/rand/v2")
func BenchmarkScan(b *testing.B){ r:=rand.New(rand.NewPCG(1,1)); x:=make([]float64,500); for i:=range x{x[i]=r.NormFloat64()}
 s:=newScanner(500,3)
 for b.Loop(){ s.best(x)}
}
