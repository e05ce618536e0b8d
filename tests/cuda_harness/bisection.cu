// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// stand-alone check and timing of the CUDA bisection
#include "bisection.cu"
#include "floor.cu"
#include "inputs.hpp"
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>
#include <vector>
#include <map>
using namespace ktopk; using namespace ktopk::detail; namespace kt = ktopk::testing;
#define CK(e) do{cudaError_t _e=(e);if(_e!=cudaSuccess){printf("CUDA %s:%d %s\n",__FILE__,__LINE__,cudaGetErrorString(_e));fflush(stdout);exit(1);}}while(0)
__global__ void spin_kernel(long long ns){ long long t0; asm volatile("mov.u64 %0,%globaltimer;":"=l"(t0)); long long t; do{ asm volatile("mov.u64 %0,%globaltimer;":"=l"(t)); }while(t-t0<ns); }
template<class T> void fill_row(T* to,std::string const& in,long n,unsigned seed){
  if(auto i=kt::input_from_name(in)){ kt::fill(to,*i,n,seed); return; }
  kt::fill(to,kt::Input::normal,n,seed);
  if constexpr(std::is_floating_point_v<T>){ T inf=INFINITY;
    for(long i=0;i<n;i++){ auto r=kt::random_bits(seed+991,i); T&x=to[i];
      if(in=="masked"){ if(r%10) x=-inf; } else if(in=="masked99"){ if(r%100) x=-inf; } else if(in=="outlier"){ x=i==7%n?T(1e30):std::max<T>(x,0)*(seed%3?T(1e-3):T(1)); } else if(in=="lone_inf"){ if(i==n/3) x=inf; } else if(in=="lone_max"){ if(i==n/3) x=3e38f; }
      else if(in=="two"){ x=r%2; } else if(in=="two_few"){ x= r%40==0; } else if(in=="ties1000"){ x=std::floor((x+4)*125)/125; } else if(in=="clustered"){ x=T(1)+T(x*1e-6); if(r%64==0) x=T(r>>40)*1e3; } else if(in=="top_equal"){ if(x>0.5) x=0.5; } else if(in=="causal"){ if(i>(long)(seed*37%n)) x=-inf; }
      else { printf("what input %s\n",in.c_str()); exit(1);} } }
}
template<class F> void parallel(long n,F const& f){ int W=std::max(1u,std::thread::hardware_concurrency()); std::vector<std::thread> th; for(int w=0;w<W;w++) th.emplace_back([&,w]{ for(long r=w;r<n;r+=W) f(r); }); for(auto&t:th)t.join(); }
enum class Lay{right,left,strided,padded,left_padded,reversed};
static const char* LN[]={"right","left","strided","padded","left_padded","reversed"};
struct Strides{ long row,step,base,total; };
inline Strides strides_of(Lay l,long rows,long n,long pad){ switch(l){ case Lay::right: return {n,1,pad,rows*n+pad}; case Lay::left: return {1,rows,pad,rows*n+pad}; case Lay::strided: return {2*n+3,2,pad,rows*(2*n+3)+pad}; case Lay::padded: return {n+16,1,pad,rows*(n+16)+pad}; case Lay::left_padded: return {2,2*rows+5,pad,n*(2*rows+5)+pad}; default: return {-n,-1,pad+rows*n-1,rows*n+pad}; } }
template<class T> struct Set { std::vector<T> rows; std::vector<T> mem; Strides s; };

template<class T> int check_type(const char* tn,int stripe,int stripes,bool small){
  using Bits=bits_of<T>; int cases=0,wrong=0,no=0; struct S{long rows,n,k;};
  std::vector<S> big={{1,1,1},{33,2,1},{33,2,2},{1000,3,2},{70,4,4},{999,7,3},{1000,16,4},{3000,24,8},{2000,30,8},{4096,64,8},{5003,64,32},{777,64,64},{1000,63,17},{300,100,100},{1500,128,8},{1111,128,64},{2501,256,8},{2500,256,32},{1300,256,128},{900,250,33},{901,252,250},{500,384,8},{400,511,100},{520,512,512},{300,513,64},{301,768,200},{300,1000,37},{300,1024,8},{257,1024,128},{90,1022,1000},{100,1536,300},{100,2000,64},{50,2047,2047},{150,2048,32},{60,2048,2048},{4,2048,1},{3,260,16},{40,4096,64},{17,4095,1000},{9,5000,5000},{13,8192,32},{6,8190,4000},{5,3072,128}};
  std::vector<S> sm={{5,3,2},{9,64,8},{9,30,8},{7,256,32},{5,250,100},{3,1024,128},{2,2048,500},{2,1023,64}};
  auto& shapes= small?sm:big; int id=0; std::vector<std::string> ins; for(auto [in,nm]:kt::input_table) ins.push_back(nm);
  if(std::is_floating_point_v<T>) for(auto s:{"masked","outlier","lone_inf","lone_max","two","two_few","ties1000","clustered","top_equal","causal"}) ins.push_back(s);
  for(auto s:shapes) { if(!small) s.rows=std::min<long>(s.rows,std::max<long>(40,60000/s.n)); for(auto&in:ins) for(int variant=0;variant<8;variant++){ id++; if(id%stripes!=stripe) continue; std::uint64_t rr=kt::random_bits(77,id);
      Options o; o.order=rr&1?Order::largest:Order::smallest; o.sorted=rr&2?Sorted::yes:Sorted::no; o.ties=(rr>>2)%4==0?Ties::highest_index:Ties::lowest_index; o.nan=rr&32?NaN::greatest:NaN::least;
      Lay lay= variant<2?Lay::right:(Lay)(variant-2>5?0:variant-2); bool kpr=variant==1||((rr>>11)%8==0); long pad= variant==0?0:(rr>>16)%4==0?(rr>>20)%5:0; bool wide=(rr>>24)%3==0, noval=(rr>>27)%7==0, noidx=!noval&&(rr>>27)%7==1, outs_left=(rr>>33)%5==0;
      Shape sh= wide?make_shape<T,std::int64_t>(s.rows,s.n,s.k):make_shape<T,int>(s.rows,s.n,s.k); sh.k_per_row=kpr;
      if(!cuda::bisection_supports(sh,o)){no++;continue;}
      Strides st=strides_of(lay,s.rows,s.n,pad); std::vector<T> rows(s.rows*s.n), mem(st.total+1); for(auto&x:mem) x=std::bit_cast<T>((Bits)(rr*0x9e3779b97f4a7c15ull>>((&x-mem.data())%7)));
      parallel(s.rows,[&](long r){ std::vector<T> row(s.n); fill_row<T>(row.data(),in,s.n,id*1000+r); memcpy((void*)(rows.data()+r*s.n),row.data(),s.n*sizeof(T)); for(long i=0;i<s.n;i++) mem[st.base+r*st.row+i*st.step]=row[i]; });
      std::vector<std::int64_t> want; if(kpr) for(long r=0;r<s.rows;r++) want.push_back((long)(kt::random_bits(id+5,r)%(s.k+3))-1);
      long outs=s.rows*s.k, ib=wide?8:4; Bits *dk,*dv; char*di; std::int64_t *dw=nullptr,*dc=nullptr;
      CK(cudaMalloc(&dk,mem.size()*sizeof(T))); CK(cudaMalloc(&dv,(outs+64)*sizeof(Bits))); CK(cudaMalloc(&di,(outs+64)*ib)); CK(cudaMalloc(&dc,(s.rows+8)*8));
      CK(cudaMemcpy(dk,mem.data(),mem.size()*sizeof(T),cudaMemcpyHostToDevice)); CK(cudaMemset(dv,0xa5,(outs+64)*sizeof(Bits))); CK(cudaMemset(di,0xa5,(outs+64)*ib)); CK(cudaMemset(dc,0xa5,(s.rows+8)*8));
      if(kpr){CK(cudaMalloc(&dw,want.size()*8));CK(cudaMemcpy(dw,want.data(),want.size()*8,cudaMemcpyHostToDevice));}
      long vr=outs_left?1:s.k, vs=outs_left?s.rows:1;
      Problem<Bits> p{sh,make_rank_map<T>(o),worst_key<T>(o.order)}; p.keys=dk+st.base; p.key_row=st.row; p.key_step=st.step; p.values=noval?nullptr:dv+32; p.value_row=vr;p.value_step=vs; p.indices=noidx?nullptr:di+32*ib; p.index_row=vr;p.index_step=vs; if(kpr) p.wanted={dw,1,8}; if(kpr||(rr>>40)%2) p.counts={dc,1,8};
      cuda::bisection<Bits>(0,0,p,o); CK(cudaGetLastError()); CK(cudaDeviceSynchronize());
      std::vector<Bits> v(outs+64); std::vector<char> ixb((outs+64)*ib); std::vector<std::int64_t> cnt(s.rows+8);
      CK(cudaMemcpy(v.data(),dv,v.size()*sizeof(Bits),cudaMemcpyDeviceToHost)); CK(cudaMemcpy(ixb.data(),di,ixb.size(),cudaMemcpyDeviceToHost)); CK(cudaMemcpy(cnt.data(),dc,cnt.size()*8,cudaMemcpyDeviceToHost));
      auto ix=[&](long i)->long{ return wide?((long*)ixb.data())[i]:(long)((int*)ixb.data())[i]; };
      bool guard=true; for(int g=0;g<32;g++) guard&= ix(g)==(wide?(long)0xa5a5a5a5a5a5a5a5:(int)0xa5a5a5a5)&&ix(outs+32+g)==ix(g)&&v[g]==(Bits)0xa5a5a5a5a5a5a5a5&&v[outs+32+g]==v[g];
      std::vector<long> badr(s.rows,0);
      parallel(s.rows,[&](long r){ long n=s.n,k=s.k,kk=k; if(kpr) kk=std::min<long>(k,std::max<long>(0,want[r])); auto map=make_item_map<Item128>(p.rank,1<<16,o.ties); std::vector<Item128> it(n); const Bits*q=(const Bits*)rows.data()+r*n; for(long i=0;i<n;i++) it[i]=map(q[i],(std::uint64_t)i);
        if(kk<n) std::nth_element(it.begin(),it.begin()+kk,it.end(),std::greater<>()); std::sort(it.begin(),it.begin()+kk,std::greater<>());
        std::vector<Item128> got; bool ok=true; auto at=[&](long j){return 32+r*vr+j*vs;};
        for(long j=0;j<kk&&ok;j++){ if(noidx){ got.push_back((Item128)p.rank(v[at(j)])); continue; } long i=ix(at(j)); if(i<0||i>=n){ok=false;break;} if(!noval&&v[at(j)]!=q[i]) ok=false; got.push_back(map(q[i],(std::uint64_t)i)); }
        if(ok&&o.sorted==Sorted::no) std::sort(got.begin(),got.end(),std::greater<>());
        if(ok) for(long j=0;j<kk;j++) if(got[j]!=(noidx?(Item128)map.rank_of(it[j]):it[j])) ok=false;
        for(long j=kk;j<k&&ok;j++) if((!noidx&&ix(at(j))!=-1)||(!noval&&v[at(j)]!=p.worst)) ok=false;
        if(p.counts&&cnt[r]!=kk) ok=false; badr[r]=!ok; });
      long bad=0,first=-1; for(long r=0;r<s.rows;r++) if(badr[r]){ bad++; if(first<0) first=r; } cases++;
      if(bad||!guard){ wrong++; if(wrong<12) printf("WRONG %s %s %ldx%ld k%ld %s kpr %d order %d sorted %d ties %d nan %d pad %ld wide %d noval %d noidx %d: rows %ld first %ld guard %d\n",tn,in.c_str(),s.rows,s.n,s.k,LN[(int)lay],kpr,(int)o.order,(int)o.sorted,(int)o.ties,(int)o.nan,pad,wide,noval,noidx,bad,first,guard); }
      cudaFree(dk);cudaFree(dv);cudaFree(di);cudaFree(dc);if(dw)cudaFree(dw); } }
  printf("%s: %d cases, %d wrong, %d unsupported\n",tn,cases,wrong,no); fflush(stdout); return wrong; }

template<class F> double median_us(F const& f,int reps,cudaStream_t st,int spin=150000){ static cudaEvent_t a=nullptr,b=nullptr; if(!a){CK(cudaEventCreate(&a));CK(cudaEventCreate(&b));} std::vector<float> t; f(); f(); CK(cudaDeviceSynchronize());
  for(int i=0;i<reps;i++){ spin_kernel<<<1,1,0,st>>>(spin); CK(cudaEventRecord(a,st)); f(); CK(cudaEventRecord(b,st)); CK(cudaEventSynchronize(b)); float ms; CK(cudaEventElapsedTime(&ms,a,b)); t.push_back(ms*1e3f);} 
  std::sort(t.begin(),t.end()); return t[t.size()/2]; }
static FILE* js=nullptr; static bool first_js=true; static int reps=21;
template<class T> void time_case(const char* tn,long rows,long n,long k,const char* in,Sorted sorted,Lay lay,double target,bool warm_only=false,bool noval=false){
  using Bits=bits_of<T>; static char* pool=nullptr; static size_t pool_bytes=0; static std::string have; static std::map<size_t,double> floors;
  Strides s=strides_of(lay,rows,n,0); size_t bytes=(size_t)s.total*sizeof(T); if(bytes>pool_bytes){ if(pool)cudaFree(pool); CK(cudaMalloc(&pool,bytes+256)); pool_bytes=bytes; have=""; }
  std::string key=std::string(tn)+in+std::to_string(rows)+"x"+std::to_string(n)+LN[(int)lay];
  if(key!=have){ long d=std::min<long>(rows,2048); std::vector<T> h(d*n); parallel(d,[&](long r){fill_row<T>(h.data()+r*n,in,n,r);}); std::vector<T> m(s.total); parallel(rows,[&](long r){ const T*q=h.data()+(r%d)*n; T*to=m.data()+s.base+r*s.row; if(s.step==1) memcpy((void*)to,q,n*sizeof(T)); else for(long i=0;i<n;i++) to[i*s.step]=q[i]; }); CK(cudaMemcpy(pool,m.data(),bytes,cudaMemcpyHostToDevice)); have=key; }
  Bits*dv;int*di; CK(cudaMalloc(&dv,rows*k*sizeof(Bits)));CK(cudaMalloc(&di,rows*k*4)); Options o; o.sorted=sorted; Shape sh=make_shape<T,int>(rows,n,k);
  Problem<Bits> p{sh,make_rank_map<T>(o),worst_key<T>(o.order)}; p.keys=(Bits*)pool+s.base; p.key_row=s.row;p.key_step=s.step; p.values=noval?nullptr:dv; p.value_row=k; p.indices=di; p.index_row=k;
  if(!cuda::bisection_supports(sh,o)){ printf("%-5s %-10s %7ldx%-5ld k%-4ld unsupported\n",tn,in,rows,n,k); cudaFree(dv);cudaFree(di); return; }
  static cudaStream_t st=nullptr; static unsigned* scratch=nullptr; if(!st){CK(cudaStreamCreate(&st)); CK(cudaMalloc(&scratch,4));}
  double us=median_us([&]{cuda::bisection<Bits>(0,st,p,o);},reps,st);
  size_t real=(size_t)rows*n*sizeof(T); if(!floors.count(real)){ double fl=1e9; for(int v=0;v<perf::cuda_read_variants();v++) fl=std::min(fl,median_us([&]{perf::cuda_read(v,pool,real,scratch,st);},15,st)); floors[real]=fl; } double fl=floors[real];
  printf("%-4s %-12s %7ldx%-5ld k%-4ld %-8s %s %8.1f us  bound %7.1f  ratio %5.2f",tn,in,rows,n,k,LN[(int)lay],sorted==Sorted::yes?"sorted":"any   ",us,fl,us/fl); if(target>0) printf("  target %5.2f (%4.2f of it)",target,us/fl/target); printf("\n"); fflush(stdout);
  if(js){ fprintf(js,"%s\n{\"rows\":%ld,\"n\":%ld,\"k\":%ld,\"type\":\"%s\",\"input\":\"%s\",\"layout\":\"%s\",\"sorted\":\"%s\",\"us\":%.2f,\"bound_us\":%.2f,\"target_over_bound\":%.2f}",first_js?"":",",rows,n,k,tn,in,LN[(int)lay],sorted==Sorted::yes?"yes":"no",us,fl,target); first_js=false; }
  cudaFree(dv);cudaFree(di); }
struct TC{long rows,n,k; double t;};
int main(int c,char**v){ std::string mode=c>1?v[1]:"key"; std::string arg=c>2?v[2]:"";
  if(mode=="check"||mode=="small"){ int a=c>3?atoi(v[3]):0,b=c>4?atoi(v[4]):1; bool s=mode=="small"; int w=0; bool all=arg=="all";
    if(arg=="f32"||all) w+=check_type<float>("f32",a,b,s);
#ifndef ONLY32
    if(arg=="u8"||all) w+=check_type<std::uint8_t>("u8",a,b,s); if(arg=="i8"||all) w+=check_type<std::int8_t>("i8",a,b,s); if(arg=="bf16"||all) w+=check_type<bfloat16>("bf16",a,b,s); if(arg=="f16"||all) w+=check_type<float16>("f16",a,b,s);
    if(arg=="i16"||all) w+=check_type<std::int16_t>("i16",a,b,s); if(arg=="f64"||all) w+=check_type<double>("f64",a,b,s); if(arg=="i64"||all) w+=check_type<std::int64_t>("i64",a,b,s); 
#endif
    if(arg=="i32"||all) w+=check_type<std::int32_t>("i32",a,b,s); if(arg=="u32"||all) w+=check_type<std::uint32_t>("u32",a,b,s); return w!=0; }
  cudaDeviceProp pr; cudaGetDeviceProperties(&pr,0); printf("%s\n",pr.name);
  if(char*o=getenv("OUT")) { js=fopen((std::string(o)+"/bisection_"+mode+".json").c_str(),"w"); fprintf(js,"["); }
  auto f=[&](long r,long n,long k,const char*in="normal",double t=0,Sorted so=Sorted::no,Lay l=Lay::right){ time_case<float>("f32",r,n,k,in,so,l,t); };
  if(mode=="one"){ f(atol(v[2]),atol(v[3]),atol(v[4]),c>5?v[5]:"normal",0,c>6&&v[6][0]=='s'?Sorted::yes:Sorted::no,c>7?(Lay)atoi(v[7]):Lay::right); return 0; }
  bool all=mode=="all";
  if(mode=="key"||all){ f(65536,64,8); f(100000,64,8,"normal",1.5); f(65536,64,32); f(65536,128,16); f(40000,256,8,"normal",1.3); f(40000,384,8,"normal",1.27); f(16384,1024,8,"normal",1.24);
    f(65536,256,8); f(65536,256,32,"normal",1.8); f(65536,256,128,"normal",2.43); f(65536,512,32,"normal",1.6); f(65536,768,32,"normal",1.53); f(65536,1024,8); f(65536,1024,32,"normal",1.4); f(65536,1024,128,"normal",1.64); f(32768,2048,64); f(100,2048,64); f(1000,256,32); }
  if(mode=="tab"||all){ for(long n:{256,512,768,1024}) for(TC t:{TC{65536,n,16,0},{65536,n,64,0}}) f(t.rows,t.n,t.k); f(1048576,256,16,"normal",1.29); f(1048576,256,32,"normal",1.44); f(1048576,256,128,"normal",2.41); f(1048576,1024,32,"normal",1.23); f(40000,256,8,"ties1000",1.51); f(40000,256,8,"ascending",1.51); }
  if(mode=="sorted"||all){ for(TC t:{TC{65536,64,8,0},{65536,64,32,0},{100000,64,8,0},{40000,256,8,0},{65536,256,32,0},{65536,256,128,0},{65536,1024,8,0},{65536,1024,32,0},{65536,1024,128,0},{32768,2048,512,0},{16384,2048,2048,0}}) f(t.rows,t.n,t.k,"normal",0,Sorted::yes); }
  if(mode=="hostile"||all){ for(TC t:{TC{65536,256,32,0},{65536,1024,32,0}}) for(auto in:{"uniform","normal","all_equal","infinities","outliers","winners_last","ascending","descending","bucket_killer","leading_bits","few_values","mostly_nans","nans","random_bits","extremes","zeros","denormals","rectified","masked","masked99","outlier","lone_inf","lone_max","two","two_few","ties1000","clustered","top_equal","causal"}) f(t.rows,t.n,t.k,in); }
  if(mode=="layout"||all){ for(TC t:{TC{65536,64,8,0},{65536,256,32,0},{65536,1024,32,0},{20000,2048,64,0}}) for(Lay l:{Lay::right,Lay::left,Lay::strided,Lay::padded,Lay::left_padded}) f(t.rows,t.n,t.k,"normal",0,Sorted::no,l); for(long n:{63,250,1001}) f(65536,n,8); }
#ifndef ONLY32
  if(mode=="types"||all){ for(TC t:{TC{65536,256,32,0},{65536,1024,32,0},{65536,64,8,0}}) { f(t.rows,t.n,t.k); time_case<double>("f64",t.rows,t.n,t.k,"normal",Sorted::no,Lay::right,0); time_case<bfloat16>("bf16",t.rows,t.n,t.k,"normal",Sorted::no,Lay::right,0); time_case<float16>("f16",t.rows,t.n,t.k,"normal",Sorted::no,Lay::right,0); time_case<std::uint8_t>("u8",t.rows,t.n,t.k,"uniform",Sorted::no,Lay::right,0); time_case<std::int32_t>("i32",t.rows,t.n,t.k,"uniform",Sorted::no,Lay::right,0); 
      time_case<bfloat16>("bf16",t.rows,t.n,t.k,"normal",Sorted::yes,Lay::right,0); time_case<double>("f64",t.rows,t.n,t.k,"normal",Sorted::yes,Lay::right,0); time_case<bfloat16>("bf16",t.rows,t.n,t.k,"normal",Sorted::no,Lay::left,0); time_case<std::uint8_t>("u8",t.rows,t.n,t.k,"uniform",Sorted::no,Lay::left,0);} }
#endif
  if(mode=="long"||all){ for(TC t:{TC{4096,4096,64,1.24},{4096,3000,64,0},{4096,8192,8,1.16},{4096,8192,64,0},{1000,4096,64,0},{16384,4096,64,0},{4096,4096,512,0}}) f(t.rows,t.n,t.k,"normal",t.t); f(4096,4096,64,"ties1000",1.42); f(4096,4096,64,"ascending",1.42); }
  if(js){ fprintf(js,"\n]\n"); fclose(js);} }
