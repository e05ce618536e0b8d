// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>
#include <random>
#include <algorithm>
#include <thread>
#include <cmath>
#include <ktopk/detail/key_traits.hpp>
#include <ktopk/detail/rank.hpp>
#include <ktopk/detail/testing.hpp>
#include "backends/cuda/radix_launch.hpp"
#include "perf/floor.cu"
using namespace ktopk; using namespace ktopk::detail;
#define CK(x) do { cudaError_t e_=(x); if(e_!=cudaSuccess){printf("CUDA %s at %d: %s\n",#x,__LINE__,cudaGetErrorString(e_)); fflush(stdout); exit(1);} } while(0)
static int conc=0;
#ifdef HM
#define ktopk_marks marks
#endif
__global__ void spin(long long cycles){ long long t=clock64(); while(clock64()-t<cycles){} }
static unsigned long long mix(unsigned long long x){x+=0x9e3779b97f4a7c15ull;x=(x^(x>>30))*0xbf58476d1ce4e5b9ull;x=(x^(x>>27))*0x94d049bb133111ebull;return x^(x>>31);}
template<class B> B fbits(double v){ if constexpr(sizeof(B)==4){float f=(float)v;B b;memcpy(&b,&f,4);return b;} else if constexpr(sizeof(B)==8){B b;memcpy(&b,&v,8);return b;} else if constexpr(sizeof(B)==2){float f=(float)v;unsigned u;memcpy(&u,&f,4);return (B)(u>>16);} else return (B)(long long)v; }
template<class B> void fill(std::vector<B>&x,std::string const&d,long long n){
  size_t N=x.size(); unsigned nt=std::min(16u,std::max(1u,std::thread::hardware_concurrency())); if(N<1<<18) nt=1; std::vector<std::thread> th;
  for(unsigned t=0;t<nt;++t) th.emplace_back([&,t]{ for(size_t i=N*t/nt;i<N*(t+1)/nt;++i){ unsigned long long r=mix(i*7+13); double u=(r>>11)*0x1p-53; long long p=i%n; double v;
    if(d=="uniform") v=u; else if(d=="normal"){ double u2=((mix(r)>>11)+1)*0x1p-53; v=std::sqrt(-2*std::log(u2))*std::cos(6.283185307*u);} 
    else if(d=="equal") v=1; else if(d=="zeros") v=(r&1)?0.0:-0.0; else if(d=="ties10") v=r%10; else if(d=="ties1000") v=r%1000;
    else if(d=="asc") v=p; else if(d=="desc") v=-(double)p; else if(d=="outlier") v=(p==n/2)?1e30:u; else if(d=="outliers") v=(r%5000==0)?1e20*u:1e-20*u;
    else if(d=="masked") v=(r%10)?-INFINITY:u; else if(d=="inf") v=(r%3)?INFINITY:u; else if(d=="nan") v=(r%3==0)?NAN:u; else if(d=="stretch") v=(p>n/3&&p<n/3+n/20)?2+u:u; 
    else if(d=="runs") v=(double)(mix(p/64)>>11); else if(d=="runs4") v=(double)(mix(p/4)>>11); else if(d=="clustered") v=1.0+u*1e-5; else if(d=="adversarial") { unsigned b=0x3f800000u|(unsigned)(r&0xfff); float f; memcpy(&f,&b,4); v=f; }
    else if(d=="mod") v=(double)(p%4096<64? 10+u: u); else if(d=="bits") {x[i]=(B)r; continue;} else if(d=="alt") v=(p&1)?u:1e9; else {printf("dist %s?\n",d.c_str());exit(1);} 
    if(d=="nan"&&v!=v&&(r&8)){ B b=fbits<B>(NAN); if constexpr(sizeof(B)>1) b|=(B)1<<(sizeof(B)*8-1); x[i]=b; continue;}
    x[i]=fbits<B>(v);} });
  for(auto&t:th)t.join(); }
struct C{ long long rows,n,k; std::string d="uniform"; Options o{}; long long step=1; int left=0; int ragged=0,kper=0; int ib=4; int off=0; int vals=1,inds=1; Threshold f=Threshold::sampled; };
static int fails=0, ran=0;
template<class T> bool test(C c){ using B=bits_of<T>; using Item=Item128; ++ran;
  long long total=c.rows*c.n; std::vector<B> h(total); fill(h,c.d,c.n);
  Shape s=make_shape<T>(c.rows,c.n,c.k); s.index_bytes=c.ib; 
  std::vector<long long> offs, want; std::mt19937_64 g(5);
  if(c.ragged){ s.ragged=true; s.n=total; offs.push_back(0); for(long long r=0;r<c.rows;++r){ long long left=total-offs.back(); long long L = r+1==c.rows? left : std::min<long long>(left, c.ragged==2? (r==0? total*3/4 : g()%(c.n/2+1)) : g()%(2*c.n+1)); offs.push_back(offs.back()+L);} }
  if(c.kper){ s.k_per_row=true; for(long long r=0;r<c.rows;++r) want.push_back(r%7==3? -1: (long long)(g()%(c.k+2))); }
  if(c.step!=1||c.left) s.packed=false;
  // device layout
  long long kstep=c.left?c.rows:c.step, krow=c.left?1:c.n*c.step; size_t span=(size_t)(c.left? total : total*c.step)+64;
  B*dk; CK(cudaMalloc(&dk,span*sizeof(B)));
  { std::vector<B> tmp; B const* src; size_t m; if(c.left){tmp.resize(total); for(long long r=0;r<c.rows;++r)for(long long i=0;i<c.n;++i)tmp[i*c.rows+r]=h[r*c.n+i]; src=tmp.data();m=total;} else if(c.step!=1){tmp.assign(total*c.step,0); for(long long i=0;i<total;++i)tmp[i*c.step]=h[i]; src=tmp.data(); m=tmp.size();} else {src=h.data();m=total;} CK(cudaMemcpy(dk+c.off,src,m*sizeof(B),cudaMemcpyHostToDevice)); }
  Problem<B> p{s,make_rank_map<T>(c.o),worst_key<T>(c.o.order)}; p.keys=dk+c.off; p.key_row=krow; p.key_step=kstep;
  size_t outs=c.rows*c.k; B*dv=nullptr; char*di=nullptr; long long*doff=nullptr,*dw=nullptr,*dc=nullptr;
  CK(cudaMalloc(&dv,outs*sizeof(B)+8)); CK(cudaMalloc(&di,outs*c.ib+8)); CK(cudaMemset(dv,0xAB,outs*sizeof(B))); CK(cudaMemset(di,0xAB,outs*c.ib));
  if(c.vals){p.values=dv;p.value_row=c.k;} if(c.inds){p.indices=di;p.index_row=c.k;}
  if(c.ragged){CK(cudaMalloc(&doff,offs.size()*8));CK(cudaMemcpy(doff,offs.data(),offs.size()*8,cudaMemcpyHostToDevice));p.offsets={doff,1,8};}
  if(c.kper){CK(cudaMalloc(&dw,want.size()*8));CK(cudaMemcpy(dw,want.data(),want.size()*8,cudaMemcpyHostToDevice));p.wanted={dw,1,8};}
  CK(cudaMalloc(&dc,c.rows*8)); CK(cudaMemset(dc,0xAB,c.rows*8)); p.counts={dc,1,8};
  size_t wb=ktopk::detail::cuda::radix_workspace_bytes(conc,s,c.o); char*ws; CK(cudaMalloc(&ws,wb+8192)); CK(cudaMemset(ws,0xCD,wb+8192));
  ForceThreshold ft(c.f);
  cudaStream_t st; CK(cudaStreamCreate(&st));
  bool ok=true; std::string why;
  try{ ktopk::detail::cuda::radix<B>(0,conc,st,p,c.o,ws+4096); }catch(std::exception&e){ok=false;why=e.what();}
  cudaError_t e=cudaStreamSynchronize(st); if(e!=cudaSuccess){printf("FATAL %s\n",cudaGetErrorString(e)); fflush(stdout);}
  std::vector<B> v(outs); std::vector<char> ix(outs*c.ib); std::vector<long long> cnt(c.rows); std::vector<unsigned char> guard(8192);
  if(e==cudaSuccess){ CK(cudaMemcpy(v.data(),dv,outs*sizeof(B),cudaMemcpyDeviceToHost)); CK(cudaMemcpy(ix.data(),di,outs*c.ib,cudaMemcpyDeviceToHost)); CK(cudaMemcpy(cnt.data(),dc,c.rows*8,cudaMemcpyDeviceToHost));
   CK(cudaMemcpy(guard.data(),ws,4096,cudaMemcpyDeviceToHost)); CK(cudaMemcpy(guard.data()+4096,ws+4096+wb,4096,cudaMemcpyDeviceToHost)); for(auto b:guard) if(b!=0xCD){ok=false;why="guard";break;} }
  else {ok=false;why="cuda";}
  for(long long r=0;r<c.rows&&ok;++r){ long long b=c.ragged?offs[r]:r*c.n, L=c.ragged?offs[r+1]-offs[r]:c.n; long long w=std::min(L,c.k); if(c.kper) w=std::min(w,std::max(0ll,want[r]));
    if(cnt[r]!=w){ok=false;why="count row "+std::to_string(r)+" "+std::to_string(cnt[r])+" wanted "+std::to_string(w);break;}
    auto map=make_item_map<Item>(p.rank,std::max<long long>(1,s.n),c.o.ties);
    auto idx=[&](long long sl)->long long{ return c.ib==4? (long long)((int*)ix.data())[r*c.k+sl] : ((long long*)ix.data())[r*c.k+sl]; };
    for(long long sl=w;sl<c.k;++sl){ if((c.vals&&v[r*c.k+sl]!=p.worst)||(c.inds&&idx(sl)!=-1)){ok=false;why="missing row "+std::to_string(r);break;} }
    if(!ok||w==0) continue;
    if(c.inds){ std::vector<Item> got(w); for(long long sl=0;sl<w;++sl){ long long i=idx(sl); if(i<0||i>=L){ok=false;why="index row "+std::to_string(r)+" slot "+std::to_string(sl)+" = "+std::to_string(i);break;} B key=h[b+i]; if(c.vals&&v[r*c.k+sl]!=key){ok=false;why="value row "+std::to_string(r)+" slot "+std::to_string(sl);break;} got[sl]=map(key,i);} if(!ok)break;
      if(c.o.sorted==Sorted::yes) for(long long sl=1;sl<w;++sl) if(!(got[sl-1]>got[sl])){ok=false;why="order row "+std::to_string(r)+" at "+std::to_string(sl);break;}
      std::sort(got.begin(),got.end()); for(long long i=1;i<w;++i) if(got[i]==got[i-1]){ok=false;why="twice";break;}
      long long above=0; for(long long i=0;i<L;++i) above+=map(h[b+i],i)>=got[0]; if(above!=w){ok=false;why="not the best: row "+std::to_string(r)+" "+std::to_string(above)+" vs "+std::to_string(w);} }
    else { std::vector<B> all(L); for(long long i=0;i<L;++i) all[i]=p.rank(h[b+i]); std::sort(all.begin(),all.end(),std::greater<B>()); std::vector<B> got(w); for(long long i=0;i<w;++i) got[i]=p.rank(v[r*c.k+i]); std::sort(got.begin(),got.end(),std::greater<B>()); for(long long i=0;i<w;++i) if(got[i]!=all[i]){ok=false;why="values";break;} }
  }
  if(!ok){++fails; printf("FAIL %d-bit rows %lld n %lld k %lld %s sorted %d ties %d small %d step %lld left %d ragged %d kper %d ib %d off %d f %d : %s\n",(int)sizeof(B)*8,c.rows,c.n,c.k,c.d.c_str(),(int)c.o.sorted,(int)c.o.ties,(int)c.o.order,c.step,c.left,c.ragged,c.kper,c.ib,c.off,(int)c.f,why.c_str()); fflush(stdout); if(e!=cudaSuccess) exit(1);} 
  cudaFree(dk);cudaFree(dv);cudaFree(di);cudaFree(doff);cudaFree(dw);cudaFree(dc);cudaFree(ws);cudaStreamDestroy(st); return ok; }
static double med(std::vector<double> v){std::sort(v.begin(),v.end());return v[v.size()/2];}
template<class F> double timed(F const& f,int reps){ cudaEvent_t a,b; CK(cudaEventCreate(&a));CK(cudaEventCreate(&b)); std::vector<double> t; for(int i=0;i<3;++i) f(); CK(cudaDeviceSynchronize());
  for(int i=0;i<reps;++i){ spin<<<1,1>>>(350000); CK(cudaEventRecord(a)); f(); CK(cudaEventRecord(b)); CK(cudaEventSynchronize(b)); float ms; CK(cudaEventElapsedTime(&ms,a,b)); t.push_back(ms*1e3);} cudaEventDestroy(a);cudaEventDestroy(b); return med(t); }
template<class T> void bench(C c){ using B=bits_of<T>; long long total=c.rows*c.n; B*dk; CK(cudaMalloc(&dk,total*sizeof(B)+64)); 
  { long long m=std::min<long long>(total,1<<25); std::vector<B> h(std::max(m,c.n<=(1<<25)?m:m)); fill(h,c.d,std::min<long long>(c.n,1<<25)); for(long long at=0;at<total;at+=m) CK(cudaMemcpy(dk+at,h.data(),std::min(m,total-at)*sizeof(B),cudaMemcpyHostToDevice)); }
  Shape s=make_shape<T>(c.rows,c.n,c.k); s.index_bytes=c.ib; Problem<B> p{s,make_rank_map<T>(c.o),worst_key<T>(c.o.order)}; p.keys=dk;p.key_row=c.left?1:c.n;p.key_step=c.left?c.rows:1; p.shape.packed=!c.left;
  B*dv;char*di; CK(cudaMalloc(&dv,c.rows*c.k*sizeof(B)));CK(cudaMalloc(&di,c.rows*c.k*c.ib)); p.values=dv;p.value_row=c.k;p.indices=di;p.index_row=c.k;
  size_t wb=ktopk::detail::cuda::radix_workspace_bytes(conc,s,c.o); char*ws; CK(cudaMalloc(&ws,wb)); 
  int reps= total*sizeof(B)>(1ll<<30)?9:25; double fl=1e30; unsigned*sc; CK(cudaMalloc(&sc,4)); for(int v=0;v<ktopk::perf::cuda_read_variants();++v) fl=std::min(fl,timed([&]{ktopk::perf::cuda_read(v,dk,total*sizeof(B),sc,0);},reps));
  double t=timed([&]{ktopk::detail::cuda::radix<B>(0,conc,0,p,c.o,ws);},reps);
#ifdef HM
  { ktopk::detail::cuda::radix<B>(0,conc,0,p,c.o,ws); CK(cudaDeviceSynchronize()); static long long m[64][32]; CK(cudaMemcpyFromSymbol(m,ktopk_marks,sizeof m)); for(int b: {0,1,17,63}) { printf("  block %d:",b); for(int i=0;i<13;++i) printf(" %d:%.2f",i,(m[b][i]-m[b][0])/1.755e3); printf("\n"); } }
#endif
  printf("BENCH %2d-bit %6lld x %10lld k %8lld %-9s sorted %d left %d: %9.2f us  bound %8.2f ratio %5.2f  ws %.1f MB\n",(int)sizeof(B)*8,c.rows,c.n,c.k,c.d.c_str(),(int)c.o.sorted,c.left,t,fl,t/fl,wb/1e6); fflush(stdout);
  cudaFree(dk);cudaFree(dv);cudaFree(di);cudaFree(ws);cudaFree(sc);} 
static Options U(){Options o; o.sorted=Sorted::no; return o;}
static Options S(){return Options{};}
static Options M(Sorted s,Ties t,Order r,NaN n=NaN::greatest){Options o;o.sorted=s;o.ties=t;o.order=r;o.nan=n;return o;}
#include "cases.inc"
int main(int argc,char**argv){ cudaDeviceProp pr; CK(cudaGetDeviceProperties(&pr,0)); conc=pr.multiProcessorCount*pr.maxThreadsPerMultiProcessor; printf("%s %d SM\n",pr.name,pr.multiProcessorCount); cases(argc>1?argv[1]:"all"); printf("ran %d failed %d\n",ran,fails); return fails!=0; }
