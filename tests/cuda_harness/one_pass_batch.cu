// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// stand-alone check and timing of one_pass_batch
#include "one_pass_batch.cu"
#include "floor.cu"
#include "inputs.hpp"
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>
#include <map>
using namespace ktopk; using namespace ktopk::detail; namespace kt = ktopk::testing;
#define CK(e) do{cudaError_t _e=(e);if(_e!=cudaSuccess){printf("CUDA %s:%d %s\n",__FILE__,__LINE__,cudaGetErrorString(_e));fflush(stdout);exit(1);}}while(0)
__global__ void spin_kernel(long long ns){ long long t0; asm volatile("mov.u64 %0,%globaltimer;":"=l"(t0)); long long t; do{ asm volatile("mov.u64 %0,%globaltimer;":"=l"(t)); }while(t-t0<ns); }

struct Case { long rows, n, k; const char* in; };
template<class T> struct Data {
  using Bits = bits_of<T>;
  Bits* keys; Bits* values; void* indices; std::int64_t* offsets=nullptr; std::int64_t* wanted=nullptr; std::int64_t* counts=nullptr;
  std::vector<T> host; Problem<Bits> p; size_t guard=64;
};
template<class T> void fill_rows(std::vector<T>& h, kt::Input in, long rows, long n, long distinct_rows, unsigned seed, long pad=0){
  h.resize(rows*n+pad);
  long d = std::min(rows, distinct_rows);
  std::vector<std::thread> th; int W=std::max(1u,std::thread::hardware_concurrency());
  for(int w=0;w<W;w++) th.emplace_back([&,w]{ for(long r=w;r<d;r+=W) kt::fill(h.data()+pad+r*n,in,n,seed+r); }); for(auto&t:th)t.join();
  for(long r=d;r<rows;r++) memcpy((void*)(h.data()+pad+r*n),(void*)(h.data()+pad+(r%d)*n),n*sizeof(T));
}
template<class T> long check_rows(std::vector<T> const& h,long pad,std::vector<std::int64_t> const& off,std::vector<std::int64_t> const& want,std::vector<bits_of<T>> const& v,std::vector<int> const& ix,std::vector<std::int64_t> const& cnt,Problem<bits_of<T>> const& p,Options const& o){
  using Bits=bits_of<T>; long bad=0; long rows=p.shape.rows,k=p.shape.k;
  std::vector<long> badr(rows,0); std::vector<std::thread> th; int W=std::max(1u,std::thread::hardware_concurrency());
  for(int w=0;w<W;w++) th.emplace_back([&,w]{ for(long r=w;r<rows;r+=W){ long b=off[r],n=off[r+1]-off[r]; long kk=std::min<long>(n,k); if(!want.empty()) kk=std::min<long>(kk,std::max<long>(0,want[r]));
    auto map=make_item_map<Item128>(p.rank,std::max<long>(n,1),o.ties); std::vector<Item128> it(n); const Bits* q=(const Bits*)h.data()+pad+b;
    for(long i=0;i<n;i++) it[i]=map(q[i],(std::uint64_t)i);
    if(kk<n) std::nth_element(it.begin(),it.begin()+kk,it.end(),std::greater<>()); std::sort(it.begin(),it.begin()+kk,std::greater<>());
    std::vector<Item128> got; bool ok=true;
    for(long j=0;j<kk&&ok;j++){ int i=ix[r*k+j]; if(i<0||i>=n){ok=false;break;} if(v[r*k+j]!=q[i]) ok=false; got.push_back(map(q[i],(std::uint64_t)i)); }
    if(ok&&o.sorted==Sorted::no) std::sort(got.begin(),got.end(),std::greater<>());
    if(ok) for(long j=0;j<kk;j++) if(got[j]!=it[j]) ok=false;
    for(long j=kk;j<k&&ok;j++) if(ix[r*k+j]!=-1||v[r*k+j]!=p.worst) ok=false;
    if(!cnt.empty()&&cnt[r]!=kk) ok=false;
    badr[r]=!ok; } }); for(auto&t:th)t.join();
  for(long r=0;r<rows;r++) bad+=badr[r]; return bad; }

template<class T> int check_type(const char* tn,int stripe,int stripes,bool small){
  using Bits=bits_of<T>; int cases=0,wrong=0,no=0;
  struct S{long rows,n,k;}; std::vector<S> big={{1,32768,32},{3,131072,2048},{100,8192,256},{37,32768,1000},{300,4096,64},{2,1000003,300},{9,100001,4000},{700,2049,1},{1100,5000,100},{20,70001,8192},{5,3000,2999},{13,513,513},{2,262147,50},{64,40001,7},{1100,8192,2048}};
  std::vector<S> sm={{1,5000,32},{3,4099,100},{2,33000,500},{1030,520,17},{2,2048,2048}};
  auto& shapes= small?sm:big; int id=0;
  for(auto& s:shapes) for(auto [in,iname]:kt::input_table){ 
    for(int variant=0;variant<8;variant++){ id++; if(id%stripes!=stripe) continue; std::uint64_t rr=kt::random_bits(77,id);
      Options o; o.order=rr&1?Order::largest:Order::smallest; o.sorted=rr&2?Sorted::yes:Sorted::no; o.ties=(rr>>2)%3==0?Ties::lowest_index:(rr>>2)%3==1?Ties::highest_index:Ties::lowest_index; o.nan=rr&32?NaN::greatest:NaN::least;
      bool left=variant>=6; bool ragged=variant==3||variant==4, kpr=variant==4||variant==5; Threshold force= variant==2? ((rr>>8)&1?Threshold::too_high:Threshold::too_low):Threshold::sampled;
      if(s.rows*s.n>3000000 && variant>1 && !small) { if((rr>>20)%2) continue; }
      long pad=(rr>>9)%5; std::vector<T> h; fill_rows<T>(h,in,s.rows,s.n,4,id,pad);
      std::vector<std::int64_t> off(s.rows+1),want; for(long r=0;r<=s.rows;r++) off[r]=r*s.n;
      if(ragged){ for(long r=1;r<s.rows;r++) off[r]=kt::random_bits(id,r)%(s.rows*s.n); std::sort(off.begin(),off.end()); }
      if(kpr) for(long r=0;r<s.rows;r++) want.push_back(kt::random_bits(id+5,r)%(s.k+2));
      Shape sh=make_shape<T,int>(s.rows,ragged?s.rows*s.n:s.n,s.k); sh.ragged=ragged; sh.k_per_row=kpr; sh.packed=!left;
      if(!cuda::one_pass_batch_supports(sh)){no++;continue;}
      Bits *dk,*dv; int*di; std::int64_t *doff=nullptr,*dw=nullptr,*dc=nullptr; long outs=s.rows*s.k;
      CK(cudaMalloc(&dk,h.size()*sizeof(T)+64)); CK(cudaMalloc(&dv,(outs+64)*sizeof(Bits))); CK(cudaMalloc(&di,(outs+64)*4)); CK(cudaMalloc(&dc,(s.rows+8)*8));
      std::vector<T> up=h; if(left) for(long r=0;r<s.rows;r++) for(long i=0;i<s.n;i++) up[pad+i*s.rows+r]=h[pad+r*s.n+i]; CK(cudaMemcpy(dk,up.data(),h.size()*sizeof(T),cudaMemcpyHostToDevice)); CK(cudaMemset(dv,0xa5,(outs+64)*sizeof(Bits))); CK(cudaMemset(di,0xa5,(outs+64)*4)); CK(cudaMemset(dc,0xa5,(s.rows+8)*8));
      if(ragged){CK(cudaMalloc(&doff,off.size()*8));CK(cudaMemcpy(doff,off.data(),off.size()*8,cudaMemcpyHostToDevice));}
      if(kpr){CK(cudaMalloc(&dw,want.size()*8));CK(cudaMemcpy(dw,want.data(),want.size()*8,cudaMemcpyHostToDevice));}
      Problem<Bits> p{sh,make_rank_map<T>(o),worst_key<T>(o.order)}; p.keys=dk+pad; p.key_row=s.n; if(left){p.key_row=1;p.key_step=s.rows;}  p.values=dv+32; p.value_row=s.k; p.indices=di+32; p.index_row=s.k;
      if(ragged) p.offsets={doff,1,8}; if(kpr) p.wanted={dw,1,8}; p.counts={dc,1,8};
      forced_threshold=force; cuda::one_pass_batch<Bits>(0,0,p,o); forced_threshold=Threshold::sampled; CK(cudaGetLastError()); CK(cudaDeviceSynchronize());
      std::vector<Bits> v(outs+64); std::vector<int> ix(outs+64); std::vector<std::int64_t> cnt(s.rows+8);
      CK(cudaMemcpy(v.data(),dv,v.size()*sizeof(Bits),cudaMemcpyDeviceToHost)); CK(cudaMemcpy(ix.data(),di,ix.size()*4,cudaMemcpyDeviceToHost)); CK(cudaMemcpy(cnt.data(),dc,cnt.size()*8,cudaMemcpyDeviceToHost));
      bool guard=true; for(int g=0;g<32;g++) guard&= ix[g]==(int)0xa5a5a5a5&&ix[outs+32+g]==(int)0xa5a5a5a5;
      std::vector<Bits> vv(v.begin()+32,v.end()-32); std::vector<int> ii(ix.begin()+32,ix.end()-32); cnt.resize(s.rows);
      if(o.ties==Ties::any) o.ties=Ties::lowest_index;
      long bad=check_rows<T>(h,pad,off,want,vv,ii,cnt,p,o); cases++;
      if(bad||!guard){ wrong++; if(wrong<12) printf("WRONG %s %s %ldx%ld k%ld variant %d order %d sorted %d ties %d nan %d force %d pad %ld: rows %ld guard %d\n",tn,iname,s.rows,s.n,s.k,variant,(int)o.order,(int)o.sorted,(int)o.ties,(int)o.nan,(int)force,pad,bad,guard); }
      cudaFree(dk);cudaFree(dv);cudaFree(di);cudaFree(dc);if(doff)cudaFree(doff);if(dw)cudaFree(dw); }
  }
  printf("%s: %d cases, %d wrong, %d unsupported\n",tn,cases,wrong,no); fflush(stdout); return wrong; }

template<class F> double median_us(F const& f,int reps,cudaStream_t st){ cudaEvent_t a,b; CK(cudaEventCreate(&a));CK(cudaEventCreate(&b)); std::vector<float> t; f(); CK(cudaDeviceSynchronize());
  for(int i=0;i<reps;i++){ spin_kernel<<<1,1,0,st>>>(60000); CK(cudaEventRecord(a,st)); f(); CK(cudaEventRecord(b,st)); CK(cudaEventSynchronize(b)); float ms; CK(cudaEventElapsedTime(&ms,a,b)); t.push_back(ms*1e3f);} 
  CK(cudaEventDestroy(a));CK(cudaEventDestroy(b)); std::sort(t.begin(),t.end()); return t[t.size()/2]; }

std::map<std::string,double> targets;
template<class T> void time_case(const char* tn,long rows,long n,long k,const char* inname,Sorted sorted,double target,double floor_target,FILE* js,bool left=false){
  using Bits=bits_of<T>; static char* pool=nullptr; static size_t pool_bytes=0; static std::string have;
  size_t bytes=(size_t)rows*n*sizeof(T); if(bytes>pool_bytes){ if(pool)cudaFree(pool); CK(cudaMalloc(&pool,bytes)); pool_bytes=bytes; have=""; }
  std::string key=std::string(tn)+inname+std::to_string(rows)+"x"+std::to_string(n);
  if(key!=have){ std::vector<T> h; bool ties1000=!strcmp(inname,"ties1000"); auto in=kt::input_from_name(ties1000?"uniform":inname); long d=std::min<long>(rows,std::max<long>(8,(8<<20)/n)); fill_rows<T>(h,*in,d,n,d,5);
    if(ties1000) for(auto&x:h) { if constexpr(std::is_same_v<T,float>) x=std::floor(x*1000)/1000; }
    for(long r=0;r<rows;r+=d) CK(cudaMemcpy(pool+(size_t)r*n*sizeof(T),h.data(),std::min(d,rows-r)*n*sizeof(T),cudaMemcpyHostToDevice)); have=key; }
  Bits*dv;int*di; CK(cudaMalloc(&dv,rows*k*sizeof(Bits)));CK(cudaMalloc(&di,rows*k*4));
  Options o; o.sorted=sorted; Shape sh=make_shape<T,int>(rows,n,k);
  Problem<Bits> p{sh,make_rank_map<T>(o),worst_key<T>(o.order)}; p.keys=(Bits*)pool; p.key_row=n; if(left){p.key_row=1;p.key_step=rows;p.shape.packed=false;} p.values=dv; p.value_row=k; p.indices=di; p.index_row=k;
  if(!cuda::one_pass_batch_supports(sh)){ printf("%-8s %7ldx%-8ld k%-6ld unsupported\n",inname,rows,n,k); return; }
  cudaStream_t st; CK(cudaStreamCreate(&st)); unsigned* scratch; CK(cudaMalloc(&scratch,4));
  double us=median_us([&]{cuda::one_pass_batch<Bits>(0,st,p,o);},21,st);
  double fl=1e9; for(int v=0;v<perf::cuda_read_variants();v++) fl=std::min(fl,median_us([&]{perf::cuda_read(v,pool,bytes,scratch,st);},9,st));
  printf("%-5s %-12s %6ldx%-8ld k%-6ld %s %8.1f us  floor %7.1f  ratio %5.2f  target-ratio %5.2f  %5.2f of it\n",tn,inname,rows,n,k,sorted==Sorted::yes?"sorted  ":"unsorted",us,fl,us/fl,target/floor_target,floor_target>0?(us/fl)/(target/floor_target):0.0); fflush(stdout);
  if(js) fprintf(js,"{\"rows\":%ld,\"n\":%ld,\"k\":%ld,\"type\":\"%s\",\"input\":\"%s\",\"sorted\":%d,\"us\":%.2f,\"floor_us\":%.2f},\n",rows,n,k,tn,inname,sorted==Sorted::yes,us,fl);
  cudaFree(dv);cudaFree(di);cudaFree(scratch);cudaStreamDestroy(st); }

int main(int c,char**v){ std::string mode=c>1?v[1]:"time"; std::string arg=c>2?v[2]:"";
  if(mode=="check"||mode=="small"){ int a=c>3?atoi(v[3]):0,b=c>4?atoi(v[4]):1; bool s=mode=="small"; int w=0;
    if(arg=="f32"||arg=="all") w+=check_type<float>("f32",a,b,s); if(arg=="u8"||arg=="all") w+=check_type<std::uint8_t>("u8",a,b,s); if(arg=="bf16"||arg=="all") w+=check_type<bfloat16>("bf16",a,b,s);
    if(arg=="f64"||arg=="all") w+=check_type<double>("f64",a,b,s); if(arg=="i32"||arg=="all") w+=check_type<std::int32_t>("i32",a,b,s); return w!=0; }
  cudaDeviceProp pr; cudaGetDeviceProperties(&pr,0); printf("%s\n",pr.name);
  FILE* js=fopen((std::string(getenv("OUT")?getenv("OUT"):".")+"/batch_"+mode+arg+".json").c_str(),"w");
  auto f=[&](long r,long n,long k,const char*in,double t,double fl,Sorted so=Sorted::no){ time_case<float>("f32",r,n,k,in,so,t,fl,js); };
  if(mode=="one"){ // rows n k input
    f(atol(v[2]),atol(v[3]),atol(v[4]),c>5?v[5]:"uniform",1,1); f(atol(v[2]),atol(v[3]),atol(v[4]),c>5?v[5]:"uniform",1,1,Sorted::yes); return 0; }
  if(mode=="key"){ 
    f(1,32768,32,"uniform",7,4.2); f(1,131072,2048,"normal",8.5,4.1); f(8,131072,50,"normal",10,4.8); f(64,131072,50,"normal",12.5,8.2); f(64,131072,2048,"normal",18.2,8.2); f(100,8192,8,"uniform",8.5,4.6); f(100,8192,256,"uniform",8.5,4.6);
    f(100,32768,32,"uniform",14,6.0); f(100,32768,2048,"uniform",14,6.0); f(100,131072,32,"uniform",20,14.3); f(100,131072,2048,"uniform",23.5,14.3); f(100,1048576,32,"uniform",102.8,95.3); f(100,1048576,2048,"uniform",108.3,95.3);
    f(1024,131072,2048,"normal",137,120.45); f(1024,131072,2048,"ties1000",157.5,120.38); f(256,262144,2048,"normal",70,63.39); f(4096,32768,512,"normal",137,120.19); f(4096,4096,64,"normal",25,20.19); f(4096,8192,8,"normal",40,34.59); f(1024,100000,10,"normal",104,93.66); }
  if(mode=="more"){ 
    for(long k:{8,128,256,2048}) f(1,32768,k,"uniform",k==2048?8:7,4.2); f(1,131072,50,"normal",8.5,4.1); f(1,151936,1024,"normal",8.5,4.2); f(8,131072,1024,"normal",10,4.8); f(8,131072,2048,"normal",10,4.8); f(8,151936,2048,"normal",10,5.0);
    f(64,131072,1024,"normal",15.4,8.2); f(64,151936,50,"normal",20,9.3); f(64,151936,2048,"normal",20,9.3); f(100,8192,2048,"uniform",8.5,4.6); f(100,131072,8,"uniform",19.1,14.3); f(100,131072,256,"uniform",20,14.3); f(100,1048576,256,"uniform",102.8,95.3);
    f(64,262144,2048,"normal",27,20.26); f(8,965000,2048,"normal",18,11.94); f(1,965000,2048,"normal",12,5.38); f(1024,131072,2048,"ascending",157.5,120.22); f(256,262144,2048,"ascending",80.5,63.62); f(4096,4096,64,"ties1000",28.7,20.22); f(4096,4096,64,"ascending",28.7,20.19);
    time_case<bfloat16>("bf16",1,151936,50,"normal",Sorted::no,8.5,4.61,js); time_case<bfloat16>("bf16",64,151936,50,"normal",Sorted::no,16,9.31,js);
    f(1024,131072,2048,"normal",137,120.45,Sorted::yes); f(64,131072,2048,"normal",18.2,8.2,Sorted::yes); f(1,131072,2048,"normal",8.5,4.1,Sorted::yes); }
  if(mode=="left"){ for(Case c:{Case{64,131072,2048,"normal"},{100,32768,32,"uniform"},{100,131072,256,"uniform"},{100,1048576,32,"uniform"},{1024,131072,2048,"normal"},{4096,32768,512,"normal"},{4096,4096,64,"normal"},{1024,100000,10,"normal"}}) { time_case<float>("f32",c.rows,c.n,c.k,c.in,Sorted::no,1,1,js,false); time_case<float>("left",c.rows,c.n,c.k,c.in,Sorted::no,1,1,js,true);} }
  if(mode=="hostile"){ for(auto [in,iname]:kt::input_table) { f(100,131072,256,iname,20,14.3); f(100,1048576,2048,iname,108.3,95.3);} }
  if(js) fclose(js); }
