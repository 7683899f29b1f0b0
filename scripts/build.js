/** Bundles the command into dist/: split, so that a command loads what it needs and no more. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire, isBuiltin } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, posix } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompressSync } from 'node:zlib';
import { build, transform } from 'esbuild';

const require = createRequire(import.meta.url);
const run = promisify(execFile);
const root = join(import.meta.dirname, '..');
const out = join(root, 'dist');
const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));

/** Stands for a digest of all chunks until they are there. */
const buildMark = 'the build';

/** What a pack ends with: the `require` of its parts. */
const loadPart = `loaded={};
const load=(name)=>{
if(parts[name]===undefined)return require(name);
if(loaded[name]===undefined){const module=loaded[name]={exports:{}};parts[name](module,module.exports,load);}
return loaded[name].exports;
};
module.exports=load;
`;

await rm(out, { recursive: true, force: true });
/** @type {import('esbuild').BuildOptions} */
const shared = {
  absWorkingDir: root,
  // A native package, which npm installs for the machine that it is on.
  external: ['@napi-rs/keyring'],
  outdir: out,
  bundle: true,
  splitting: true,
  // Names stay as they are, for stack traces that a bug report can be made of: to keep them beside short ones takes time.
  minifySyntax: true,
  minifyWhitespace: true,
  format: 'esm',
  platform: 'node',
  target: 'node20.18',
  metafile: true,
  legalComments: 'none',
  chunkNames: 'chunks/[name]-[hash]',
  define: {
    LEADPIPE_VERSION: JSON.stringify(version),
    LEADPIPE_BUILD: JSON.stringify(buildMark),
    // undici looks at these two, and nothing is read from the environment of a program.
    'process.env.JEST_WORKER_ID': 'undefined',
    'process.env.UNDICI_NO_WASM_SIMD': 'undefined',
  },
};
const { metafile, outputFiles } = await build({
  ...shared,
  plugins: [{ name: 'spared-parts', setup: sparedParts }],
  entryPoints: { main: 'src/main.ts', 'keychain-main': 'src/keychain-main.ts' },
  outExtension: { '.js': '.cjs' },
  write: false,
});
await writeCommonJs(outputFiles, toPacks(metafile));
// Apart from the command, which would otherwise load its parts in more pieces.
await build({
  ...shared,
  entryPoints: { index: 'src/index.ts' },
  plugins: [
    { name: 'node-modules', setup: nodeModules },
    { name: 'spared-parts', setup: sparedParts },
  ],
});
await writeTypes();
const wasm = require.resolve('node-sqlite3-wasm/dist/node-sqlite3-wasm.wasm');
await cp(wasm, join(out, 'chunks', 'node-sqlite3-wasm.wasm'));
const leads = await readFile(join(root, 'src', 'local-service', 'demonstration.jsonl'));
await writeFile(join(out, 'chunks', 'demonstration.jsonl.br'), brotliCompressSync(leads));
await writeFile(join(out, 'help.json'), JSON.stringify(await prepareHelps()));
const page = await run(process.execPath, [join(root, 'bin', 'leadpipe.js'), 'man']);
await writeFile(join(out, 'leadpipe.1'), page.stdout);
await writeFile(join(out, 'THIRD-PARTY-LICENSES.txt'), await licences(metafile));

/**
 * What most runs load all of, in files of their own: to find and read a file takes longer than to run what is in it. A pack
 * has everything that these parts of the program need, but for what is in a pack above it.
 */
function toPacks({ outputs }) {
  const packs = {
    // Before the place is known where newer Nodes keep what they compile.
    folders: ['node_modules/env-paths/index.js'],
    'every-command': ['src/cli/start.ts'],
    'every-request': [
      'src/cli/commands/balance.ts',
      'src/client.ts',
      'src/transport/time-limits.ts',
      'src/transport/request.ts',
      'src/transport/agent.ts',
      'src/output/jsonl.ts',
    ],
    'every-purchase': ['src/cli/commands/search.ts'],
  };
  const packOf = new Map();
  const paths = new Map(Object.entries(outputs).map(([path, { entryPoint }]) => [entryPoint, path]));
  const put = (path, pack) => {
    if (packOf.has(posix.basename(path))) return;
    packOf.set(posix.basename(path), pack);
    for (const { path: next, kind, external } of outputs[path].imports) {
      if (kind === 'import-statement' && !external) put(next, pack);
    }
  };
  for (const [pack, parts] of Object.entries(packs)) {
    for (const part of parts) put(paths.get(part), pack);
  }
  return packOf;
}

/**
 * Writes the command as CommonJS, which Node loads at once: an ES module is a quarter of the start of Node 20. esbuild
 * splits ES modules only, so they are split first. `packOf` names the pack that a file goes into.
 */
async function writeCommonJs(files, packOf) {
  const packs = new Map();
  const build = createHash('sha256');
  let main;
  for (const { path, text } of files) {
    const name = posix.basename(path);
    const pack = packOf.get(name);
    // What is imported without a name are helpers of esbuild, which are not needed there.
    const code = (await toCommonJs(text.replace(/^import"[^"]+";/, ''))).replace(
      /require\("\.\/((?:chunks\/)?)([^"/]+\.cjs)"\)/g,
      (whole, folder, other) => {
        const home = packOf.get(other);
        return home === undefined || home === pack
          ? whole
          : `require("./${folder}${home}.cjs")("./${other}")`;
      },
    );
    build.update(code);
    await mkdir(dirname(path), { recursive: true });
    if (name === 'main.cjs') main = { path, code };
    else if (pack === undefined) await writeFile(path, code);
    // In parentheses, a function is compiled at once and not read twice.
    else
      packs.set(pack, `${packs.get(pack) ?? ''}"./${name}":(function(module,exports,require){${code}\n}),\n`);
  }
  for (const [pack, parts] of packs) {
    await writeFile(join(out, 'chunks', `${pack}.cjs`), `const parts={\n${parts}},${loadPart}`);
  }
  const loading = main.code
    .replaceAll('require("./chunks/', 'chunkLoader.load("./')
    .replaceAll(buildMark, build.digest('hex').slice(0, 16));
  await writeFile(main.path, loading);
}

async function toCommonJs(text) {
  const { code } = await transform(text, {
    format: 'cjs',
    platform: 'node',
    target: shared.target,
    minifySyntax: true,
    minifyWhitespace: true,
    supported: { 'dynamic-import': false },
    define: { 'import.meta.dirname': '__dirname' },
  });
  // They take a while to load, and are often not used after all.
  return code.replace(
    /=require\("(node:(?:crypto|v8|vm|zlib|fs\/promises))"\)/g,
    '=new Proxy({},{get:(parts,key)=>(parts.all??=require("$1"))[key]})',
  );
}

/** The text of every help, which is the same for everybody whose terminal has the usual width, or who has none. */
async function prepareHelps() {
  const made = await mkdtemp(join(tmpdir(), 'leadpipe-help-'));
  const outfile = join(made, 'prepared-help.cjs');
  const { outdir: _, splitting: __, chunkNames: ___, ...rest } = shared;
  const define = { ...shared.define, 'import.meta.dirname': '__dirname' };
  await build({ ...rest, entryPoints: ['src/cli/prepared-help.ts'], outfile, format: 'cjs', define });
  const helps = await require(outfile).prepareHelps(version);
  await rm(made, { recursive: true });
  return helps;
}

/**
 * What of packages never runs here, and takes its time to load. Of the two builds of undici's parser, the one without
 * SIMD is kept, which runs everywhere.
 */
function sparedParts({ onResolve, onLoad }) {
  onResolve({ filter: /llhttp_simd-wasm\.js$/ }, ({ path, resolveDir }) => ({
    path: join(resolveDir, path.replace('_simd', '')),
  }));
  // undici looks for two constants in node:http, and commander starts no programs here.
  onResolve({ filter: /^node:(?:http|assert|child_process)$/ }, ({ path, importer }) =>
    /node_modules\/(?:undici|commander)\//.test(importer) ? { path, namespace: 'spared' } : undefined,
  );
  onLoad({ filter: /^node:child_process$/, namespace: 'spared' }, () => ({
    contents: 'module.exports = {};',
  }));
  onLoad({ filter: /^node:http$/, namespace: 'spared' }, () => ({
    contents: 'module.exports = { IncomingMessage: class {}, maxHeaderSize: 16384 };',
  }));
  onLoad({ filter: /^node:assert$/, namespace: 'spared' }, () => ({
    contents: `
      const assert = (value, message) => {
        if (value) return;
        throw message instanceof Error ? message : new Error(message ?? 'an assertion in undici failed');
      };
      module.exports = assert;`,
  }));
  onLoad({ filter: /undici\/lib\/(?:dispatcher\/client-h2|web\/fetch\/body)\.js$/ }, () => ({
    contents: "module.exports = () => { throw new Error('left out of the bundle'); };",
  }));
}

/**
 * What is imported by other programs may be put anywhere by their bundlers: CommonJS packages in it can't have the
 * `require` of a banner, and ask Node itself for its modules.
 */
function nodeModules({ onResolve, onLoad }) {
  onResolve({ filter: /^\w/ }, ({ path, kind }) =>
    kind === 'require-call' && isBuiltin(path) ? { path, namespace: 'node' } : undefined,
  );
  onLoad({ filter: /./, namespace: 'node' }, ({ path }) => ({
    contents: `module.exports = process.getBuiltinModule('${path}');`,
  }));
}

/** The declarations that are reached from those of `index.ts`, and no others. */
async function writeTypes() {
  const made = await mkdtemp(join(tmpdir(), 'leadpipe-types-'));
  const tsc = require.resolve('typescript/package.json').replace('package.json', 'bin/tsc');
  await run(process.execPath, [tsc, '-p', join(root, 'tsconfig.types.json'), '--outDir', made]);
  const reached = new Set(['index.ts']);
  for (const file of reached) {
    const declarations = await readFile(join(made, file.replace(/\.ts$/, '.d.ts')), 'utf8');
    // Programs need not have the types of Node.
    const own = declarations.replace(/\bBuffer(<ArrayBuffer(Like)?>)?/g, 'Uint8Array');
    const text = own.replace(/(\sfrom ')(\.[^']*)\.ts'/g, (_, from, path) => {
      reached.add(posix.join(posix.dirname(file), `${path}.ts`));
      return `${from}${path}.js'`;
    });
    const target = join(out, 'types', file.replace(/\.ts$/, '.d.ts'));
    await mkdir(dirname(target), { recursive: true });
    await writeFile(target, text);
  }
  await rm(made, { recursive: true });
}

/** The licence texts of every package that the bundle holds. */
async function licences({ outputs }) {
  const folders = new Set();
  for (const { inputs } of Object.values(outputs)) {
    for (const input of Object.keys(inputs)) {
      const found = /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(input);
      if (found) folders.add(found[1]);
    }
  }
  const texts = await Promise.all([...folders].sort().map(licenceOf));
  return `leadpipe contains these packages.\n\n${texts.join('\n\n')}\n`;
}

async function licenceOf(folder) {
  const { name, version, license } = JSON.parse(await readFile(join(root, folder, 'package.json'), 'utf8'));
  const file = (await readdir(join(root, folder))).find((one) => /^licen[cs]e/i.test(one));
  const text = file === undefined ? `Licence: ${license}` : await readFile(join(root, folder, file), 'utf8');
  return `== ${name} ${version} (${license})\n\n${text.trim()}`;
}
