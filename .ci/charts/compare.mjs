// Compares chart libraries with pages of ours in headless Chromium: a series of 2,000 values with a band, under the content
// security policy of our pages (scripts and styles by hash, no network). Prints a row for each: size, processor time of the
// page, time to draw, to hover and to zoom, named nodes of the accessibility tree, and violations of the policy.
//
//	node --experimental-websocket .ci/charts/compare.mjs FOLDER PAGE...
//
// FOLDER gets the packages of registry.npmjs.org (curl and tar) and the pages; PAGE are pages of ours.
import {execFileSync, spawn} from 'node:child_process'
import {createHash} from 'node:crypto'
import {existsSync, mkdirSync, readFileSync, statSync, writeFileSync} from 'node:fs'
import {resolve} from 'node:path'
import {setTimeout as sleep} from 'node:timers/promises'
import {gzipSync} from 'node:zlib'

const [folder, ...own] = process.argv.slice(2).map(p => resolve(p))
const passes = 5 // the median counts

function file(pack, tarball, path) {
  const dir = `${folder}/${tarball}`
  if (!existsSync(dir)) {
    mkdirSync(dir, {recursive: true})
    execFileSync('curl', ['-sfLo', `${dir}/p.tgz`, `https://registry.npmjs.org/${pack}/-/${tarball}.tgz`])
    execFileSync('tar', ['xzf', `${dir}/p.tgz`, '-C', dir])
  }
  return readFileSync(`${dir}/package/dist/${path}`, 'utf8')
}

const data = `const N=2000,x=[],y=[],lo=[],hi=[];for(let i=0;i<N;i++){x.push(1754000000+86400*i);
const v=100+8*Math.sin(i/40)+((i*7919)%101-50)/25;y.push(v);lo.push(v-3);hi.push(v+3)}
const at=document.getElementById('c'),t0=performance.now(),since=t=>performance.now()-t;`

const libraries = {
  'uPlot 1.6.32': {
    script: file('uplot', 'uplot-1.6.32', 'uPlot.iife.min.js'), style: file('uplot', 'uplot-1.6.32', 'uPlot.min.css'),
    draw: `const u=new uPlot({width:1100,height:300,bands:[{series:[3,2],fill:'rgba(0,0,200,.1)'}],series:[{},{label:'TTFT',stroke:'#06c'},
{stroke:'#9bd'},{stroke:'#9bd'}]},[x,y,lo,hi],at);requestAnimationFrame(()=>{window.drawMs=since(t0);let t=performance.now();
for(let i=0;i<50;i++)u.setCursor({left:i*20,top:100});window.hoverMs=since(t)/50;t=performance.now();
u.setScale('x',{min:x[500],max:x[700]});requestAnimationFrame(()=>window.zoomMs=since(t))})`,
  },
  'Observable Plot 0.6.17 with d3 7.9.0': {
    script: file('d3', 'd3-7.9.0', 'd3.min.js') + '\n' + file('@observablehq/plot', 'plot-0.6.17', 'plot.umd.min.js'),
    draw: `const d=x.map((t,i)=>({t:new Date(t*1000),y:y[i],lo:lo[i],hi:hi[i]}));const mk=q=>Plot.plot({width:1100,height:300,
ariaLabel:'TTFT',marks:[Plot.areaY(q,{x:'t',y1:'lo',y2:'hi',fillOpacity:.1}),Plot.lineY(q,{x:'t',y:'y'}),
Plot.tip(q,Plot.pointerX({x:'t',y:'y'}))]});const el=mk(d);at.append(el);window.drawMs=since(t0);let t=performance.now();
for(let i=0;i<50;i++)el.dispatchEvent(new PointerEvent('pointermove',{clientX:60+i*20,clientY:150,bubbles:true,pointerType:'mouse'}));
window.hoverMs=since(t)/50;t=performance.now();el.replaceWith(mk(d.slice(500,700)));window.zoomMs=since(t)`,
  },
  'ECharts 6.0.0, common': {
    script: file('echarts', 'echarts-6.0.0', 'echarts.common.min.js'),
    draw: `const c=echarts.init(at,null,{renderer:'svg',width:1100,height:300}),line=v=>({type:'line',showSymbol:false,
data:x.map((t,i)=>[t*1000,v[i]])});c.setOption({animation:false,aria:{enabled:true},tooltip:{trigger:'axis'},dataZoom:[{type:'inside'}],
xAxis:{type:'time'},yAxis:{type:'value',scale:true},series:[line(y),line(lo),line(hi)]});window.drawMs=since(t0);let t=performance.now();
for(let i=0;i<50;i++)c.dispatchAction({type:'showTip',seriesIndex:0,dataIndex:i*40});window.hoverMs=since(t)/50;t=performance.now();
c.dispatchAction({type:'dataZoom',startValue:x[500]*1000,endValue:x[700]*1000});c.getZr().flush();window.zoomMs=since(t)`,
  },
}

const pages = own.map(path => ({name: path.split('/').slice(-2).join('/'), path, bytes: statSync(path).size, zipped: gzipSync(readFileSync(path)).length}))
for (const [name, {script, style = '', draw}] of Object.entries(libraries)) {
  const all = [script, data, draw].join('\n'), hash = text => `'sha256-${createHash('sha256').update(text).digest('base64')}'`
  const path = `${folder}/${name.replace(/\W+/g, '-')}.html`
  writeFileSync(path, `<!doctype html><html lang="en"><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="default-src
 'none'; script-src ${hash(all)}; style-src ${hash(style)}"><title>x</title><style>${style}</style><div id="c"></div><script>${all}</script></html>`)
  pages.push({name, path, bytes: script.length + style.length, zipped: gzipSync(script + style).length})
}

const port = 9300 + process.pid % 500
const browser = spawn('chromium', ['--headless=new', '--no-sandbox', '--disable-gpu', `--user-data-dir=${folder}/profile`,
  `--remote-debugging-port=${port}`, 'about:blank'], {stdio: 'ignore'})
let tab
for (let i = 0; i < 150 && !tab; i++) {
  await sleep(200)
  tab = await fetch(`http://127.0.0.1:${port}/json`).then(r => r.json()).then(l => l.find(t => t.type === 'page')).catch(() => undefined)
}
const socket = new WebSocket(tab.webSocketDebuggerUrl), waiting = new Map(), events = []
await new Promise(open => { socket.onopen = open })
socket.onmessage = m => {
  const d = JSON.parse(m.data)
  if (d.id) waiting.get(d.id)(d.result ?? {})
  else events.push(d)
}
let last = 0
const send = (method, params = {}) => new Promise(done => { waiting.set(++last, done); socket.send(JSON.stringify({id: last, method, params})) })
const value = async expression => (await send('Runtime.evaluate', {expression, returnByValue: true, awaitPromise: true})).result?.value
const metrics = async () => Object.fromEntries((await send('Performance.getMetrics')).metrics.map(m => [m.name, m.value]))
for (const domain of ['Page', 'Runtime', 'Log', 'Accessibility', 'Performance']) await send(domain + '.enable')
await send('Emulation.setDeviceMetricsOverride', {width: 1280, height: 900, deviceScaleFactor: 1, mobile: false})

console.log('page | bytes | gzip | processor ms | load ms | draw ms | hover ms | zoom ms | named nodes | violations')
for (const page of pages) {
  const seen = []
  let violations
  for (let k = 0; k < passes; k++) {
    events.length = 0
    const before = (await metrics()).ProcessTime
    await send('Page.navigate', {url: 'file://' + page.path})
    for (let i = 0; i < 1200 && !events.some(e => e.method === 'Page.loadEventFired'); i++) await sleep(50)
    await value('new Promise(r=>requestAnimationFrame(()=>requestAnimationFrame(()=>requestAnimationFrame(r))))')
    const after = (await metrics()).ProcessTime
    const of = await value(`({load:performance.getEntriesByType('navigation')[0].loadEventEnd,draw:window.drawMs,hover:window.hoverMs,zoom:window.zoomMs})`)
    seen.push({...of, cpu: 1000 * (after > before ? after - before : after)})
    violations = events.filter(e => e.method === 'Log.entryAdded' && e.params.entry.text.includes('Content Security Policy')).length
  }
  const named = (await send('Accessibility.getFullAXTree')).nodes.filter(n => !n.ignored && n.name?.value).length
  const median = k => { const v = seen.map(s => s[k]).sort((a, b) => a - b)[passes >> 1]; return v === undefined ? '–' : v.toFixed(k === 'hover' ? 2 : 0) }
  console.log([page.name, page.bytes, page.zipped, ...['cpu', 'load', 'draw', 'hover', 'zoom'].map(median), named, violations].join(' | '))
}
socket.close()
browser.kill()
