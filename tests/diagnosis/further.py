"""More small programs, in the style of real training code: each with one reason why a gradient is missing."""

from tests.diagnosis.programs import Program

_TEXT = r"""
### detached | encoder-only-in-training | w.why(model.enc.weight, loss)
nn = T.nn
class M(nn.Module):
    def __init__(s):
        super().__init__(); s.enc=nn.Linear(3,4); s.dec=nn.Linear(4,3)
    def forward(s,x):
        z=s.enc(x)
        if s.training:
            z=z.detach()  #!
        return s.dec(z)
model=M(); x=T.randn(5,3)
loss=nn.functional.mse_loss(model(x), x)
loss.backward()
### detached | losses-kept-detached | w.why(a, total)
a=T.tensor([1.,2.],requires_grad=True); b=T.tensor([1.,2.],requires_grad=True)
losses=[]
for i in range(3):
    l=(a*i).sum()
    losses.append(l.detach())  #!
total=T.stack(losses).sum()*b.sum()
total.backward()
### detached | embedding-mean | w.why(emb.weight, loss)
emb=T.nn.Embedding(10,4); head=T.nn.Linear(4,2)
with T.no_grad(): idx=T.randint(0,10,(6,))
e=emb(idx).mean(0,keepdim=True).detach()  #!
loss=T.nn.functional.cross_entropy(head(e), T.tensor([1])); loss.backward()
### detached | policy-gradient | w.why(policy.weight, loss)
policy=T.nn.Linear(4,2); value=T.nn.Linear(4,1)
s=T.randn(8,4); logits=policy(s)
dist=T.distributions.Categorical(logits=logits)
act=dist.sample()
logp=dist.log_prob(act).detach()  #!
adv=value(s).squeeze(1)
loss=-(logp*adv).mean(); loss.backward()
### detached | clone-detach-requires | w.why(x,loss)
x=T.tensor([1.,2.],requires_grad=True)
t=x.clone().detach().requires_grad_(True)  #!
loss=(t**2).sum(); loss.backward()
### data-attribute | relu-of-data | w.why(net.weight, loss)
net=T.nn.Linear(2,2); out=T.nn.Linear(2,1)
h=net(T.ones(1,2)); h2=T.relu(h.data)  #!
loss=out(h2).sum(); loss.backward()
### data-attribute | cloned-data | w.why(x, loss)
x=T.tensor(3.,requires_grad=True); y=T.tensor(2.,requires_grad=True)
z=x.data.clone()+1  #!
loss=z*y; loss.backward()
### left-torch | numpy-sine | w.why(x, loss)
x=T.tensor([1.,2.],requires_grad=True)
y=T.tensor(np.sin(x.detach().numpy()), requires_grad=True)  #!
loss=y.sum(); loss.backward()
### left-torch | math-exp | w.why(x, loss)
import math
x=T.tensor(2.,requires_grad=True); b=T.tensor(1.,requires_grad=True)
loss=b*math.exp(x)  #!
loss.backward()
### left-torch | sum-of-a-list | w.why(x, loss)
x=T.tensor([1.,2.,3.],requires_grad=True); b=T.tensor(1.,requires_grad=True)
loss=b*sum(x.tolist())  #!
loss.backward()
### left-torch | standardised-in-numpy | w.why(p.weight, loss)
p=T.nn.Linear(2,2); q=T.nn.Linear(2,1)
def extract(t):
    arr = t.detach().cpu().numpy()  #!
    arr = (arr - arr.mean()) / (arr.std() + 1e-6)
    return arr
f=extract(p(T.randn(4,2)))
loss=q(T.as_tensor(f)).sum(); loss.backward()
### left-torch | greatest-of-items | w.why(x, loss)
x=T.tensor([1.,2.],requires_grad=True); b=T.ones(2,requires_grad=True)
m=max(v.item() for v in x)  #!
loss=(b/m).sum(); loss.backward()
### left-torch | the-loss-from-an-item | w.why(loss)
x=T.tensor([1.,2.],requires_grad=True)
s=x.sum().item()  #!
loss=T.tensor(s, requires_grad=False)*2
### left-torch | in-an-attribute | w.why(x, loss)
x=T.tensor([0.3,0.7],requires_grad=True); b=T.ones(2,requires_grad=True)
class Store: pass
st=Store(); st.v=float(x[0])  #!
loss=(b*st.v).sum(); loss.backward()
### left-torch | in-a-dictionary | w.why(x, loss)
x=T.tensor([0.3,0.7],requires_grad=True); b=T.ones(2,requires_grad=True)
cfg={}
cfg["t"]=x.max().item()  #!
loss=(b*cfg["t"]).sum(); loss.backward()
### rebuilt | list-of-products | w.why(a, loss)
a=T.tensor(1.,requires_grad=True); b=T.tensor(2.,requires_grad=True); c=T.tensor(2.,requires_grad=True)
v=T.tensor([a*2,b*3])  #!
loss=(v*c).sum(); loss.backward()
### rebuilt | new-tensor | w.why(x, loss)
x=T.tensor([1.,2.],requires_grad=True); h=x*x
y=h.new_tensor(h)  #!
loss=(y*T.ones(2,requires_grad=True)).sum(); loss.backward()
### rebuilt | variable-of-a-product | w.why(x, loss)
Variable=T.autograd.Variable
x=T.tensor([1.,2.],requires_grad=True)
y=Variable(x*3, requires_grad=True)  #!
loss=y.sum(); loss.backward()
### rebuilt | parameter-inside-forward | w.why(net.w, loss)
class N(T.nn.Module):
    def __init__(s):
        super().__init__(); s.w=T.nn.Parameter(T.ones(3)); s.b=T.nn.Parameter(T.ones(3))
    def forward(s,x):
        k=T.nn.Parameter(s.w*2)  #!
        return (x*k*s.b).sum()
net=N(); loss=net(T.ones(3)); loss.backward()
### rebuilt | legacy-constructor | w.why(a, loss)
a=T.tensor(1.5,requires_grad=True); b=T.tensor(2.,requires_grad=True)
v=T.Tensor([a*2,b*3])  #!
loss=v.sum()*b; loss.backward()
### no-grad-mode | helper-with-no-grad | w.why(enc.weight, loss)
enc=T.nn.Linear(3,3); dec=T.nn.Linear(3,1)
def encode(x):
    with T.no_grad():
        return enc(x)  #!
loss=dec(encode(T.ones(1,3))).sum(); loss.backward()
### no-grad-mode | grad-enabled-returned | w.why(x, loss)
x=T.zeros(3,requires_grad=True); b=T.ones(3,requires_grad=True)
prev=T.set_grad_enabled(False)
y=x.exp()  #!
T.set_grad_enabled(True)
loss=(y*b).sum(); loss.backward()
### no-grad-mode | update-in-a-loop | w.why(w_, loss)
w_=T.ones(2,requires_grad=True)
for i in range(2):
    loss=(w_*w_).sum() if w_.requires_grad else (w_*w_).sum()*T.ones((),requires_grad=True)
    loss.backward()
    with T.no_grad():
        if i==0: w_=w_-0.1*w_.grad  #!
### no-grad-mode | filled-in-a-loop | w.why(x, loss)
x=T.ones(4,requires_grad=True); b=T.ones(4,requires_grad=True)
out=T.zeros(4)
with T.no_grad():
    for i in range(4):
        out[i]=x[i]*2  #!
loss=(out*b).sum(); loss.backward()
### inference-mode | encoder-then-clone | w.why(enc.weight, loss)
enc=T.nn.Linear(3,3); dec=T.nn.Linear(3,1)
with T.inference_mode():
    z=enc(T.ones(1,3))  #!
loss=dec(z.clone()).sum(); loss.backward()
### inference-mode | decorated | w.why(z)
enc=T.nn.Linear(3,3)
@T.inference_mode()
def f(x):
    return enc(x)  #!
z=f(T.ones(1,3))
### non-differentiable-op | accuracy-as-loss | w.why(x, loss)
x=T.randn(4,3,requires_grad=True); y=T.tensor([0,1,2,0]); b=T.ones((),requires_grad=True)
acc=(x.argmax(1)==y).float().mean()  #!
loss=1-acc*b; loss.backward()
### non-differentiable-op | where-of-constants | w.why(x, loss)
x=T.tensor([0.2,0.8],requires_grad=True); b=T.ones(2,requires_grad=True)
h=T.where(x>0.5, T.ones(2), T.zeros(2))  #!
loss=(h*b).sum(); loss.backward()
### non-differentiable-op | floor | w.why(x, loss)
x=T.tensor([1.3,2.6],requires_grad=True)
y=T.floor(x)*2  #!
loss=y.sum(); loss.backward()
### non-differentiable-op | sign | w.why(x, loss)
x=T.tensor([1.3,-2.6],requires_grad=True)
y=T.sign(x)  #!
loss=(y*3).sum(); loss.backward()
### non-differentiable-op | topk-indices | w.why(x, loss)
x=T.tensor([1.3,-2.6, 0.4],requires_grad=True); w2=T.ones(2,requires_grad=True)
vals, idx=x.topk(2)  #!
loss=(idx.float()*w2).sum(); loss.backward()
### non-differentiable-op | clamped-to-int | w.why(x, loss)
x=T.tensor([1.3,-2.6, 0.4],requires_grad=True); tab=T.nn.Embedding(5,2)
k=T.clamp(x,0,4).to(T.int64)  #!
loss=tab(k).sum(); loss.backward()
### non-differentiable-op | one-hot | w.why(x, loss)
x=T.tensor([1.3,2.6, 0.4],requires_grad=True); b=T.ones(3,requires_grad=True)
oh=T.nn.functional.one_hot(x.argmax(),3).float()  #!
loss=(oh*b).sum(); loss.backward()
### non-differentiable-op | multinomial | w.why(logits, loss)
logits=T.randn(3,requires_grad=True); b=T.ones(3,requires_grad=True)
p=T.softmax(logits,0)
i=T.multinomial(p,1)  #!
loss=b[i].sum(); loss.backward()
### non-differentiable-op | bernoulli | w.why(logits, loss)
logits=T.randn(3,requires_grad=True); b=T.ones(3,requires_grad=True)
s=T.bernoulli(T.sigmoid(logits))  #!
loss=(s*b).sum(); loss.backward()
### non-differentiable-op | counted | w.why(x, loss)
x=T.tensor([3.,1.,2.],requires_grad=True); b=T.ones(3,requires_grad=True)
n=int((x>1.5).sum())  #!
loss=b[:n].sum(); loss.backward()
### function-returned-none | reversal-forgot | w.why(x, loss)
class Rev(T.autograd.Function):
    @staticmethod
    def forward(ctx,x,lam):
        ctx.lam=lam
        return x.view_as(x)
    @staticmethod
    def backward(ctx,g):
        g=-ctx.lam*g
        return None, None  #!
x=T.ones(3,requires_grad=True); b=T.ones(3,requires_grad=True)
loss=(Rev.apply(x*2,0.5)*b).sum(); loss.backward()
### function-returned-none | pass | w.why(lin.weight, loss)
class Clip(T.autograd.Function):
    @staticmethod
    def forward(ctx,x): return x.clamp(-1,1)
    @staticmethod
    def backward(ctx,g):
        pass  #!
lin=T.nn.Linear(2,2); b=T.ones(2,requires_grad=True)
loss=(Clip.apply(lin(T.ones(1,2)))*b).sum(); loss.backward()
### cleared | adam-loop | w.why(m.weight, loss)
m=T.nn.Linear(2,1); opt=T.optim.Adam(m.parameters())
for i in range(2):
    loss=m(T.ones(1,2)).sum()
    loss.backward()
    opt.zero_grad()  #!
    opt.step()
### cleared | loop-over-tensors | w.why(x, loss)
x=T.ones(3,requires_grad=True)
loss=(x*x).sum(); loss.backward()
for p in [x]:
    p.grad=None  #!
### frozen-after-forward | some-layers-after | w.why(m[0].weight, loss)
m=T.nn.Sequential(T.nn.Linear(2,2),T.nn.Linear(2,1))
loss=m(T.ones(1,2)).sum()
for p in m[0].parameters():
    p.requires_grad=False  #!
loss.backward()
### not-required | some-layers-before | w.why(m[0].weight, loss)
m=T.nn.Sequential(T.nn.Linear(2,2),T.nn.Linear(2,1))
for p in m[0].parameters(): p.requires_grad=False  #!
loss=m(T.ones(1,2)).sum(); loss.backward()
### not-required | data-tensor | w.why(x, loss)
x=T.randn(3)  #!
m=T.nn.Linear(3,1); loss=m(x).sum(); loss.backward()
### not-reached | two-heads | w.why(a.weight, loss)
a=T.nn.Linear(2,1); b=T.nn.Linear(2,1)
ya=a(T.ones(1,2)); yb=b(T.ones(1,2))
print("", end=f"{ya.item():.1f}"[:0])
loss=yb.sum(); loss.backward()
### not-reached | deep-copy | w.why(q.weight, loss)
import copy
q=T.nn.Linear(2,1); tgt=copy.deepcopy(q); h=T.nn.Linear(1,1)
loss=h(tgt(T.ones(1,2))).sum(); loss.backward()
### not-reached | loaded-state | w.why(q.weight, loss)
q=T.nn.Linear(2,1); tgt=T.nn.Linear(2,1)
tgt.load_state_dict(q.state_dict())
loss=tgt(T.ones(1,2)).sum(); loss.backward()
### not-reached | replaced-parameter | w.why(old, loss)
m=T.nn.Linear(2,1); old=m.weight
m.weight=T.nn.Parameter(T.zeros(1,2))
loss=m(T.ones(1,2)).sum(); loss.backward()
### rebound | double | w.why(x, loss)
x=T.randn(3,requires_grad=True)
x=x.double()  #!
loss=x.sum(); loss.backward()
### rebound | viewed | w.why(x, loss)
x=T.randn(4,requires_grad=True)
x=x.view(2,2)  #!
loss=(x**2).sum(); loss.backward()
### rebound | clamped-update | w.why(v, loss)
v=T.randn(4,requires_grad=True)
loss=(v**2).sum(); loss.backward()
v=T.clamp(v-v.grad,-1,1)  #!
loss=(v**2).sum(); loss.backward()
### rebound | scaled-at-birth | w.why(v, loss)
v=(T.randn(4,requires_grad=True)*0.01)  #!
loss=(v**2).sum(); loss.backward()
### non-leaf | activation | w.why(h, loss)
m=T.nn.Linear(2,2)
h=T.relu(m(T.ones(1,2)))  #!
loss=h.sum(); loss.backward()
### non-leaf | slice | w.why(y, loss)
x=T.ones(3,requires_grad=True)
y=x[0:2]  #!
loss=y.sum(); loss.backward()
### no-backward-yet | module | w.why(m.weight, loss)
m=T.nn.Linear(2,1); loss=m(T.ones(1,2)).sum()
### no-backward-yet | module-without-loss | w.why(m.weight)
m=T.nn.Linear(2,1); loss=m(T.ones(1,2)).sum()
### no-backward-yet | grad-of-parameters | w.why(m.weight, loss)
m=T.nn.Linear(2,1); loss=m(T.ones(1,2)).sum()
g=T.autograd.grad(loss, list(m.parameters()))
### has-grad | module | w.why(m.weight, loss)
m=T.nn.Linear(2,1); loss=m(T.ones(1,2)).sum(); loss.backward()
### all-zero | relu-far-below | w.why(m.weight, loss)
m=T.nn.Linear(2,1); loss=(T.relu(m(T.ones(1,2))-100)).sum(); loss.backward()
### has-grad | two-roots | w.why(x)
x=T.ones(2,requires_grad=True)
T.autograd.backward([x.sum(), (x*x).sum()])
### not-differentiable-dtype | embedding-indices | why(i, loss)
i=T.tensor([1,2]); e=T.nn.Embedding(3,2); loss=e(i).sum(); loss.backward()
### detached | without-a-loss-given | w.why(x)
x=T.ones(2,requires_grad=True); b=T.ones(2,requires_grad=True)
y=(x*2).detach()  #!
(y*b).sum().backward()
### unknown | autograd-grad | why(x, loss)
x=T.ones(2,requires_grad=True)
loss=(x*x).sum(); T.autograd.grad(loss,x)
### nan | entropy-at-zero | w.why(x, loss)
x=T.tensor([0.,1.],requires_grad=True)
n=x/x.sum()
l=T.log(n)
p=n*l  #!
loss=p.sum(); loss.backward()
### nan | normalised-zero | w.why(x, loss)
x=T.tensor([0.,0.],requires_grad=True)
n=x.norm()
u=x/n  #!
loss=u.sum(); loss.backward()
### inf | overflow | w.why(x, loss)
x=T.tensor([100.,1.],requires_grad=True)
e=T.exp(x)  #!
loss=e.sum(); loss.backward()
### detached | in-a-checkpoint | w.why(gen.weight, loss)
checkpoint = T.utils.checkpoint.checkpoint
gen=T.nn.Linear(2,2); out=T.nn.Linear(2,1)
def block(t):
    h=gen(t)
    return h.detach()  #!
z=checkpoint(block, T.ones(1,2,requires_grad=True), use_reentrant=False)
loss=out(z).sum(); loss.backward()
### left-torch | mean-and-deviation | w.why(x, loss)
x=T.tensor([1.,2.],requires_grad=True); b=T.ones(2,requires_grad=True)
def stats(t): return t.mean().item(), t.std().item()  #!
mu, sd = stats(x)
loss=((b-mu)/sd).sum(); loss.backward()
### detached | in-a-dictionary-of-parts | w.why(x, loss)
x=T.ones(2,requires_grad=True); b=T.ones(2,requires_grad=True)
parts={"a":(x*2).detach(),"b":b}  #!
loss=sum(v.sum() for v in parts.values()); loss.backward()
### no-grad-mode | concatenation | w.why(x, loss)
x=T.ones(2,requires_grad=True); b=T.ones(2,requires_grad=True)
with T.no_grad():
    y=T.cat([x, x])  #!
loss=(y[:2]*b).sum(); loss.backward()
### detached | unbound | w.why(x, loss)
x=T.ones(2,2,requires_grad=True); b=T.ones(2,requires_grad=True)
c, d = x.detach().unbind(0)  #!
loss=(c*b+d).sum(); loss.backward()
### non-differentiable-op | marked-non-differentiable | w.why(x, loss)
class Q(T.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        out = x * 2  #!
        ctx.mark_non_differentiable(out)
        return out
    @staticmethod
    def backward(ctx, g): return g
x=T.ones(2,requires_grad=True); b=T.ones(2,requires_grad=True)
loss=(Q.apply(x)*b).sum(); loss.backward()
### rebuilt | parameter-of-a-parameter | w.why(enc.weight, loss)
enc=T.nn.Linear(3,3,bias=False); dec=T.nn.Linear(3,3,bias=False)
dec.weight=T.nn.Parameter(enc.weight)  #!
loss=dec(T.ones(1,3)).sum(); loss.backward()
### no-grad-mode | fake-without-graph | w.why(G.weight, g_loss)
G=T.nn.Linear(2,2); D=T.nn.Linear(2,1)
with T.no_grad():
    fake=G(T.randn(4,2))  #!
d_loss=D(fake).mean(); d_loss.backward()
g_loss=-D(fake).mean(); g_loss.backward()
### cleared | generator-cleared | w.why(G.weight, g_loss)
G=T.nn.Linear(2,2); D=T.nn.Linear(2,1); go=T.optim.SGD(G.parameters(),lr=.1)
for i in range(2):
    fake=G(T.randn(4,2))
    g_loss=-D(fake).mean(); g_loss.backward()
    go.zero_grad()  #!
    go.step()
### data-attribute | initial-state | w.why(h0, loss)
h0=T.nn.Parameter(T.zeros(3)); cell=T.nn.Linear(3,3)
h=h0.data.expand(2,3)  #!
for t in range(3):
    h=T.tanh(cell(h))
loss=h.sum(); loss.backward()
### detached | round-of-detached | w.why(x, loss)
x=T.tensor([0.3,1.7],requires_grad=True); b=T.ones(2,requires_grad=True)
q=T.round(x.detach())  #!
loss=(q*b).sum(); loss.backward()
### all-zero | straight-through-without-detach | w.why(x, loss)
x=T.tensor([0.3,1.7],requires_grad=True)
q=x+(T.round(x)-x)
loss=(q*3).sum(); loss.backward()
### not-reached | target-instead-of-online | w.why(online.weight, loss)
online=T.nn.Linear(2,2); target=T.nn.Linear(2,2)
target.load_state_dict(online.state_dict())
q=target(T.ones(3,2)); y=T.ones(3,2)
loss=((q-y)**2).mean(); loss.backward()
### has-grad | clamped-through-data | w.why(x, loss)
x=T.tensor([0.3,1.7],requires_grad=True)
h=x*2
h.data.clamp_(0,1)
loss=h.sum(); loss.backward()
### no-backward-yet | edited-after-sigmoid | w.why(x, loss)
x=T.tensor([0.3,1.7],requires_grad=True)
s=T.sigmoid(x)
s.mul_(2)  #!
loss=s.sum()
try: loss.backward()
except RuntimeError: pass
### detached | recurrent-detached | w.why(w1, loss)
w1=T.randn(3,3,requires_grad=True); w2=T.randn(3,3,requires_grad=True)
xs=T.randn(5,3); h=T.zeros(3)
for x in xs:
    h=T.tanh(x@w1+h.detach())
    h=h.detach()  #!
loss=(h@w2).sum(); loss.backward()
### rebound | optimizer-before-to | w.why(w_, loss)
w_=T.zeros(3,requires_grad=True)
opt=T.optim.SGD([w_],lr=0.1)
w_=w_.to(T.float64)  #!
for i in range(2):
    opt.zero_grad(); loss=((w_-1)**2).sum(); loss.backward(retain_graph=True); opt.step()
### no-grad-mode | own-context-manager | w.why(m.weight, loss)
m=T.nn.Linear(2,2); bn=T.nn.Linear(2,1)
class Frozen:
    def __enter__(s): T.set_grad_enabled(False); return s
    def __exit__(s,*a): T.set_grad_enabled(True)
with Frozen():
    f=m(T.ones(1,2))  #!
loss=bn(f).sum(); loss.backward()
### left-torch | buffer-of-arrays | w.why(m.weight, loss)
m=T.nn.Linear(2,2); head=T.nn.Linear(2,1)
class Buf:
    def __init__(s): s.items=[]
    def push(s, t): s.items.append(t.detach().numpy())  #!
    def get(s): return T.from_numpy(np.stack(s.items))
buf=Buf()
for i in range(3): buf.push(m(T.ones(2)))
loss=head(buf.get()).sum(); loss.backward()
### detached | buffer-of-detached | w.why(m.weight, loss)
m=T.nn.Linear(2,2); head=T.nn.Linear(2,1)
class Buf:
    def __init__(s): s.items=[]
    def push(s, t): s.items.append(t.detach())  #!
    def get(s): return T.stack(s.items)
buf=Buf()
for i in range(3): buf.push(m(T.ones(2)))
loss=head(buf.get()).sum(); loss.backward()
### not-reached | auxiliary-head-unused | w.why(aux.weight, loss)
m=T.nn.Linear(2,2); aux=T.nn.Linear(2,1)
h=m(T.ones(1,2)); a=aux(h)
loss=h.sum()+0*1.0; loss.backward()
### all-zero | auxiliary-head-times-zero | w.why(aux.weight, loss)
m=T.nn.Linear(2,2); aux=T.nn.Linear(2,1)
h=m(T.ones(1,2)); a=aux(h)
loss=h.sum()+0.0*a.sum(); loss.backward()
### non-differentiable-op | hard-threshold | w.why(m.weight, loss)
m=T.nn.Linear(2,2); b=T.ones(2,requires_grad=True)
p=T.sigmoid(m(T.ones(1,2)))
hard=(p>0.5).to(T.float32)  #!
loss=((hard*b)**2).mean(); loss.backward()
### not-required | one-layer-frozen | w.why(m.weight, loss)
m=T.nn.Linear(2,2); h=T.nn.Linear(2,1)
m.weight.requires_grad_(False)  #!
loss=h(m(T.ones(1,2))).sum(); loss.backward()
### left-torch | handed-to-a-function | w.why(a, loss)
a=T.tensor(1.5,requires_grad=True); b=T.tensor(2.0,requires_grad=True)
def f(v): return v*v
s=f(a).item()  #!
def g(k, t): return k*t
loss=g(s, b); loss.backward()
### inf | power-half | w.why(x, loss)
x=T.tensor([0.,4.],requires_grad=True)
y=x.pow(0.5)  #!
loss=y.sum(); loss.backward()
### nan | zero-by-zero | w.why(x, loss)
x=T.tensor([1.,2.],requires_grad=True)
z=x-x
y=z/z  #!
loss=y.sum(); loss.backward()
### unknown | another-loss | why(x)
x=T.tensor([1.,2.],requires_grad=True); b=T.tensor(2.,requires_grad=True)
(b*b).backward()
### rebound | parameter-double | why(p, loss)
p=T.nn.Parameter(T.ones(3)).double()
loss=p.sum(); loss.backward()
### not-required | under-no-grad | why(y, loss)
x=T.tensor([1.,2.],requires_grad=True); b=T.ones(2,requires_grad=True)
with T.no_grad(): y=x*2
loss=(y*b).sum(); loss.backward()
"""

TORCH_ONLY = frozenset(("legacy-constructor", "normalised-zero", "policy-gradient"))
HUNTED = frozenset(("entropy-at-zero", "normalised-zero", "overflow", "power-half", "zero-by-zero"))


def _programs() -> list[Program]:
    found = []
    for part in _TEXT.split("### ")[1:]:
        head, _, code = part.partition("\n")
        cause, name, ask = (text.strip() for text in head.split(" | "))
        engines = ("torch",) if name in TORCH_ONLY else ("torch", "gradlab")
        found.append(Program(f"{cause}-{name}", cause, code, ask, engines, nan=name in HUNTED))
    return found


FURTHER = _programs()
