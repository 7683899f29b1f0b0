/** Builds the package into dist/: the command, the library with its types, the manual page and the licences. */
import { execFileSync } from 'node:child_process';
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire, isBuiltin } from 'node:module';
import { join } from 'node:path';
import { brotliCompressSync } from 'node:zlib';
import { rolldown } from 'rolldown';

const require = createRequire(import.meta.url);
const root = join(import.meta.dirname, '..');
const out = join(root, 'dist');
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

/** @type {import('rolldown').InputOptions} */
const shared = {
  cwd: root,
  platform: 'node',
  // A native package, which npm installs for the machine that it is on.
  external: ['@napi-rs/keyring'],
  // cli-table3 would bring an older one, which measures Arabic, Thai, Hindi and new emoji otherwise than the rest does.
  plugins: [
    {
      name: 'one-string-width',
      resolveId: (id, importer = '') =>
        id === 'string-width' && importer.includes('cli-table3')
          ? join(root, 'scripts/string-width.cjs')
          : null,
    },
  ],
  resolve: {
    alias: {
      // Of the two builds of undici's parser one is enough: this one runs everywhere.
      '../llhttp/llhttp_simd-wasm.js': require.resolve('undici/lib/llhttp/llhttp-wasm.js'),
      // Of the server's two validators the small one: neither is used, since arguments are checked in src/mcp.
      '@modelcontextprotocol/server/_shims': join(
        require.resolve('@modelcontextprotocol/server'),
        '../shimsBrowser.mjs',
      ),
    },
  },
  transform: {
    target: 'node20.18',
    define: {
      LEADPIPE_VERSION: JSON.stringify(version),
      // undici looks at these two, and nothing is read from the environment of a program.
      'process.env.JEST_WORKER_ID': 'undefined',
      'process.env.UNDICI_NO_WASM_SIMD': 'undefined',
      // Where it is set, conf writes the file of keys in place.
      'process.env.SNAP': 'undefined',
    },
  },
};

/**
 * What CommonJS packages require of Node, for an ES module: other people's bundlers may put it anywhere, where the usual
 * `createRequire` has no file to begin at.
 */
const builtins = {
  name: 'builtins',
  resolveId(id, _, { kind }) {
    // Not every Node has every one.
    const isNodes = isBuiltin(id) || id.startsWith('node:');
    return kind === 'require-call' && isNodes ? `\0builtin:${id}` : null;
  },
  load(id) {
    const [, name] = /^\0builtin:(.*)/.exec(id) ?? [];
    return name === undefined ? null : `module.exports = process.getBuiltinModule('${name}');`;
  },
};

/** What the command and the library both need is there once, as CommonJS, which Node 20 can load from either. */
const common = {
  'undici/lib/dispatcher/agent.js': 'agent',
  'undici/lib/core/connect.js': 'connect',
  ajv: 'ajv',
  'ajv/dist/2020.js': 'ajv-2020',
};
const elsewhere = {
  name: 'elsewhere',
  // All that need it are chunks.
  resolveId: (id) =>
    Object.hasOwn(common, id) ? { id: `../packages/${common[id]}.cjs`, external: 'absolute' } : null,
};

/** An entry of its own for each: as one, a file that others need too would lose what they take of it. */
const entries = {
  name: 'entries',
  resolveId: (id) => (id.startsWith('entry:') ? `\0${id}` : null),
  load: (id) => (id.startsWith('\0entry:') ? `module.exports = require('${id.slice(7)}');` : null),
};

// Names stay as they are, for stack traces that a bug report can be made of.
const small = { comments: false, minify: { mangle: { keepNames: true }, compress: true, codegen: true } };

rmSync(out, { recursive: true, force: true });
const parts = [
  ...(await bundle({
    ...shared,
    input: Object.fromEntries(Object.entries(common).map(([id, name]) => [name, `entry:${id}`])),
    plugins: [...shared.plugins, builtins, entries],
    output: {
      ...small,
      dir: join(out, 'packages'),
      format: 'cjs',
      entryFileNames: '[name].cjs',
      chunkFileNames: '[name]-[hash].cjs',
    },
  })),
  // CommonJS: an ES module costs a quarter of Node's own start on Node 20. Split, so that a command loads what it needs.
  ...(await bundle({
    ...shared,
    input: { main: 'src/main.ts', 'keychain-main': 'src/keychain-main.ts' },
    plugins: [...shared.plugins, elsewhere],
    output: {
      ...small,
      dir: out,
      format: 'cjs',
      entryFileNames: '[name].cjs',
      chunkFileNames: 'chunks/[name]-[hash].cjs',
      // Node's loader of ES modules takes longer to start than most of what it would load.
      dynamicImportInCjs: false,
    },
  })),
  // Readable, since it is other people's programs whose stack traces lead here.
  ...(await bundle({
    ...shared,
    input: { index: 'src/index.ts' },
    plugins: [...shared.plugins, elsewhere],
    output: { dir: out, format: 'esm', chunkFileNames: 'chunks/[name]-[hash].js', comments: false },
  })),
];
const { prepare } = await preparation();
const { helps, roff, text } = await prepare(version);
writeFileSync(join(out, 'help.json'), JSON.stringify(helps));
writeFileSync(join(out, 'leadpipe.1'), roff);
writeFileSync(join(out, 'leadpipe.txt'), text);
const tsc = require.resolve('typescript/package.json').replace('package.json', 'bin/tsc');
execFileSync(process.execPath, [tsc, '-p', 'tsconfig.types.json'], { cwd: root, stdio: 'inherit' });
dropTypes(join(out, 'types'), 'index.d.ts');
const wasm = require.resolve('node-sqlite3-wasm/dist/node-sqlite3-wasm.wasm');
cpSync(wasm, join(out, 'chunks', 'node-sqlite3-wasm.wasm'));
const leads = readFileSync(join(root, 'src/local-service/demonstration.jsonl'));
writeFileSync(join(out, 'chunks', 'demonstration.jsonl.br'), brotliCompressSync(leads));
writeFileSync(join(out, 'THIRD-PARTY-LICENSES.txt'), toLicences(parts));

async function bundle({ output, ...input }) {
  const build = await rolldown(input);
  const { output: written } = await build.write(output);
  await build.close();
  return written;
}

/** The compiler declares every file that it reads: what these types do not lead to goes. */
function dropTypes(folder, entry) {
  const needed = new Set([join(folder, entry)]);
  for (const file of needed)
    for (const [, path] of readFileSync(file, 'utf8').matchAll(/(?:from |import\()['"](\..+?)\.[jt]s['"]/g))
      needed.add(join(file, '..', `${path}.d.ts`));
  for (const name of readdirSync(folder, { recursive: true }))
    if (name.endsWith('.d.ts') && !needed.has(join(folder, name))) rmSync(join(folder, name));
}

/** What makes the helps and the manual page out of the commands; it does not stay. */
async function preparation() {
  const file = join(out, 'prepared.cjs');
  const output = { file, format: 'cjs', codeSplitting: false };
  await bundle({ ...shared, input: 'scripts/prepared.ts', output });
  const made = require(file);
  rmSync(file);
  return made;
}

/** The licence texts of every package of which a part is in the bundle. */
function toLicences(chunks) {
  const modules = chunks.flatMap(({ moduleIds = [] }) => moduleIds);
  const folders = modules.flatMap((id) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(id)?.[0] ?? []);
  const texts = [...new Set(folders)].sort().map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    const file = readdirSync(folder).find((one) => /^licen[cs]e/i.test(one));
    const text = file === undefined ? `Licence: ${license}` : readFileSync(join(folder, file), 'utf8');
    return `== ${name} ${version} (${license})\n\n${text.trim()}`;
  });
  return `leadpipe contains these packages.\n\n${texts.join('\n\n')}\n`;
}
