// Bundles one entry point: our own sources and the npm packages that they need, in one CommonJS file.
import { existsSync, readFileSync, statSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { LOWEST_NODE, LOWEST_NODE_OF_AGENT, lowestNodeCheck } from './lowest-node.mjs';
import { ownPositions } from './own-positions.mjs';

const require = createRequire(import.meta.url);
export const workspaceRoot = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');

/** esbuild drops decorator metadata, which NestJS and TypeORM need; swc emits it. */
const decoratorMetadata = {
  name: 'decorator-metadata',
  setup(build) {
    const swc = require('@swc/core');
    const { ts } = require('./swc-options.cjs');
    build.onLoad({ filter: /\.ts$/ }, async ({ path: filename }) => {
      const source = await readFile(filename, 'utf8');
      const { code, map } = await swc.transform(source, { ...ts, filename, module: { type: 'es6' } });
      const inline = `\n//# sourceMappingURL=data:application/json;base64,${Buffer.from(map).toString('base64')}`;
      return { contents: code + inline, loader: 'js' };
    });
  },
};

/**
 * Packages that others load if they are installed. None of them is, except msgpackr-extract, which is native: from
 * dist/ of a checkout it is found in node_modules, in an image it is missing and msgpackr uses its JavaScript instead.
 */
const optionalPackages = [
  '@fastify/multipart',
  '@fastify/view',
  '@nats-io/transport-node',
  '@nestjs/platform-express',
  '@nestjs/websockets',
  '@valkey/valkey-glide',
  'amqp-connection-manager',
  'kafkajs',
  'mqtt',
  'msgpackr-extract',
  'pg-native',
];

/**
 * One bundle per entry point: main.ts, and openapi.ts where an app has one.
 * @param {string} projectRoot such as apps/orders-v3, or tools, whose main.ts is not in src
 * @returns {Record<string, string>}
 */
export function entryPointsOf(projectRoot) {
  const folder = existsSync(path.join(workspaceRoot, projectRoot, 'src'))
    ? `${projectRoot}/src`
    : projectRoot;
  const sources = ['main', 'openapi'].map((name) => [name, `${folder}/${name}.ts`]);
  return Object.fromEntries(sources.filter(([, source]) => existsSync(path.join(workspaceRoot, source))));
}

/**
 * @param {Record<string, string>} entryPoints output name without ending → source file, from the workspace root
 * @param {string} outdir from the workspace root, or absolute
 */
export function bundleOptions(entryPoints, outdir) {
  return {
    absWorkingDir: workspaceRoot,
    entryPoints,
    outdir,
    bundle: true,
    platform: 'node',
    format: 'cjs',
    // Syntax that an older Node.js parses, so that it can run the check of its version.
    target: 'node18',
    banner: {
      js: `${lowestNodeCheck(path.basename(outdir), lowestNodeOf(entryPoints))}\nvar bundleUrl = require('node:url').pathToFileURL(__filename).href;`,
    },
    // Packages that are ES modules; a bundle is CommonJS.
    define: { 'import.meta.url': 'bundleUrl' },
    // maildev, of the demo mailbox only, reads files beside its own modules.
    external: [...optionalPackages, ...withoutRedis(entryPoints), 'maildev', 'swagger-ui-dist/package.json'],
    minifyWhitespace: true,
    minifySyntax: true,
    lineLimit: 1_000,
    legalComments: 'eof',
    // Data lists that are part of the program.
    loader: { '.txt': 'text' },
    // Workspace aliases look like packages but must be bundled.
    plugins: [workspaceAliases(), requiredPackages, usedParts, plainCallSites, dataBeside, decoratorMetadata],
    sourcemap: true,
    sourcesContent: false,
    logLevel: 'warning',
  };
}

/**
 * @nestjs/core loads @nestjs/microservices, and with it the client of Redis, in processes that have either.
 * @param {Record<string, string>} entryPoints
 */
function withoutRedis(entryPoints) {
  const apps = Object.values(entryPoints).map((source) => /^apps\/[^/]+/.exec(source)?.[0]);
  const hasRedis = apps.some((app) => app === undefined || !noRedis.includes(app));
  return hasRedis ? [] : ['@nestjs/microservices'];
}

/** Apps that do not connect to Redis. */
const noRedis = ['apps/agent', 'apps/ct-ingest', 'apps/dns-gateway'];

/** @param {Record<string, string>} entryPoints */
const lowestNodeOf = (entryPoints) =>
  Object.values(entryPoints).every((source) => source.startsWith('apps/agent/'))
    ? LOWEST_NODE_OF_AGENT
    : LOWEST_NODE;

/**
 * Our sources are compiled to CommonJS everywhere else, so a package with both forms is loaded as CommonJS. Two copies of
 * one package in a process would not recognize each other's classes.
 */
const requiredPackages = {
  name: 'required-packages',
  setup(build) {
    build.onResolve({ filter: /^[^./]/ }, async ({ path: name, kind, importer, resolveDir, pluginData }) => {
      if (kind !== 'import-statement' || pluginData === requiredPackages || isOfPackage(importer))
        return null;
      const options = { kind: 'require-call', importer, resolveDir, pluginData: requiredPackages };
      const resolved = await build.resolve(name, options);
      return resolved.errors.length === 0 ? resolved : null;
    });
  },
};

/** Above this size a data list is a file beside the bundle: code is read and kept in memory as a whole. */
const dataBesideBytes = 1e6;

/** Read when it is used for the first time. */
const dataBeside = {
  name: 'data-beside',
  setup(build) {
    build.onResolve({ filter: /\.txt$/ }, ({ path: file, resolveDir }) => ({
      path: path.resolve(resolveDir, file),
      sideEffects: false,
    }));
    build.onLoad({ filter: /\.txt$/ }, ({ path: file }) => {
      if (!isBeside(file)) return null;
      const read = `require('node:fs').readFileSync(require('node:path').join(__dirname, '${path.basename(file)}'), 'latin1')`;
      return { contents: `module.exports = { __esModule: true, get default() { return ${read}; } };` };
    });
  },
};

const isBeside = (file) => file.endsWith('.txt') && statSync(file).size >= dataBesideBytes;

/** In place of a part of a package that is left out. */
const leftOut = 'left-out';

/** Leaves out parts of packages that are loaded although nothing here uses them. */
const usedParts = {
  name: 'used-parts',
  setup(build) {
    // Of the drivers of TypeORM, which it loads all, only that of PostgreSQL is used.
    build.onResolve({ filter: /^\.\/[a-z0-9-]+\/\w+Driver$/ }, ({ path: driver, importer }) =>
      importer.endsWith('/typeorm/driver/DriverFactory.js') && driver !== './postgres/PostgresDriver'
        ? { path: driver, namespace: leftOut }
        : null,
    );
    // It would load a second TypeORM from a checkout, to find what TypeORM 1 no longer has.
    build.onLoad({ filter: /@nestjs\/typeorm\/dist\/common\/typeorm-compat\.js$/ }, () => ({
      contents: 'export const Connection = undefined, AbstractRepository = undefined;',
    }));
    // Data of `IsPhoneNumber` of class-validator, which lint refuses.
    build.onResolve({ filter: /^libphonenumber-js\/max$/ }, ({ path: data }) => ({
      path: data,
      namespace: leftOut,
    }));
    // Queues of BullMQ in PostgreSQL.
    build.onResolve({ filter: /^\.\/postgres$/ }, ({ path: queues, importer }) =>
      importer.endsWith('/bullmq/dist/cjs/index.js') ? { path: queues, namespace: leftOut } : null,
    );
    // Only `Agent` of undici is used, not `fetch`, WebSocket, caches and mocks.
    build.onLoad({ filter: /[/\\]undici[/\\]index\.js$/ }, () => ({
      contents: `exports.Agent = require('./lib/dispatcher/agent');`,
    }));
    build.onLoad({ filter: /./, namespace: leftOut }, () => ({ contents: 'module.exports = {};' }));
  },
};

/**
 * pino looks up which files call it when a logger is made. With --enable-source-maps, Node.js would decode the source map for
 * that: 5 to 8 MB that a process keeps, and 0.1 to 0.3 s of its start.
 */
const plainCallSites = {
  name: 'plain-call-sites',
  setup(build) {
    build.onLoad({ filter: /[/\\]pino[/\\]lib[/\\]caller\.js$/ }, () => ({
      contents: `module.exports = () =>
        require('node:util').getCallSites(10, { sourceMap: false }).slice(2).map(({ scriptName }) => scriptName);`,
    }));
  },
};

function workspaceAliases() {
  return {
    name: 'workspace-aliases',
    setup(build) {
      build.onResolve({ filter: /^@certwright\// }, ({ path: name }) => ({
        path: path.join(workspaceRoot, 'libs', name.slice('@certwright/'.length), 'src/index.ts'),
      }));
    },
  };
}

/**
 * Bundles what has changed since the last time. Several processes may do so at the same time, while others load a bundle:
 * each file is replaced as a whole.
 * @param {Record<string, string>} entryPoints output name without ending → source file, from the workspace root
 * @param {string} outdir from the workspace root, or absolute
 */
export async function bundle(entryPoints, outdir) {
  const changed = Object.entries(entryPoints).filter(([name, source]) => !isCurrent(outdir, name, source));
  if (changed.length === 0) return;
  const target = path.resolve(workspaceRoot, outdir);
  await mkdir(target, { recursive: true });
  // Beside it, so that paths relative to it are the same.
  const folder = await mkdtemp(path.join(path.dirname(target), '.building-'));
  try {
    const isCertain = await bundleInto(folder, Object.fromEntries(changed), outdir);
    if (!isCertain) for (const [name] of changed) await rm(inputsFile(outdir, name), { force: true });
    await moveFiles(folder, target);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** @returns false: a source changed meanwhile, and may be in the bundle as it was before */
async function bundleInto(folder, entryPoints, outdir) {
  const begunMs = Date.now();
  const options = { ...bundleOptions(entryPoints, outdir), outdir: folder, metafile: true };
  const { metafile } = await require('esbuild').build(options);
  const outputs = Object.values(metafile.outputs);
  let areCertain = true;
  for (const [name, source] of Object.entries(entryPoints)) {
    const all = Object.keys(outputs.find(({ entryPoint }) => entryPoint === source)?.inputs ?? {});
    const inputs = all.filter((file) => !file.startsWith(`${leftOut}:`));
    await escapeBeyondAscii(path.join(folder, `${name}.js`));
    await shrinkSourceMap(path.join(folder, `${name}.js.map`));
    for (const data of inputs.filter((file) => isBeside(path.resolve(workspaceRoot, file))))
      await copyFile(path.resolve(workspaceRoot, data), path.join(folder, path.basename(data)));
    if (source.endsWith('src/main.ts') && entryPointsOf(source.replace('/src/main.ts', '')).openapi)
      await writeDocumentationPage(folder);
    // The lock file decides what the files of packages contain.
    const own = inputs.filter((file) => !isOfPackage(file));
    const files = [...own, ...builders].map((file) => [file, stampOf(file)]);
    files.push([`${outdir}/${name}.js`, stampOf(path.join(folder, `${name}.js`))]);
    const isCertain = own.every((file) => statSync(path.resolve(workspaceRoot, file)).mtimeMs < begunMs);
    areCertain &&= isCertain;
    if (isCertain) await writeFile(inputsFile(folder, name), JSON.stringify({ source, files }));
    await writeFile(path.join(folder, `${name}.packages.json`), packagesJson(inputs));
  }
  return areCertain;
}

async function moveFiles(from, to) {
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const [source, target] = [path.join(from, entry.name), path.join(to, entry.name)];
    if (!entry.isDirectory()) await rename(source, target);
    else {
      await mkdir(target, { recursive: true });
      await moveFiles(source, target);
    }
  }
}

const isOfPackage = (file) => file.includes('node_modules/');

/**
 * V8 keeps the text of a program in memory: with one byte per character, or two if a single one is beyond Latin-1.
 * esbuild escapes them except in regular expressions and comments.
 */
async function escapeBeyondAscii(file) {
  const escaped = (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  await writeFile(file, (await readFile(file, 'utf8')).replace(/[^\0-\x7f]/g, escaped));
}

/** Packages have maps too, with sources that are not here. */
async function shrinkSourceMap(file) {
  const isOwn = (source) => !isOfPackage(source) && existsSync(path.resolve(path.dirname(file), source));
  const map = ownPositions(JSON.parse(await readFile(file, 'utf8')), isOwn);
  await writeFile(file, JSON.stringify({ ...map, names: [] }));
}

/** Served by the documentation of an API, compressed. */
async function writeDocumentationPage(folder) {
  const from = path.dirname(require.resolve('swagger-ui-dist/package.json'));
  await mkdir(path.join(folder, 'swagger-ui'));
  for (const file of documentationFiles) {
    const compressed = gzipSync(await readFile(path.join(from, file)), { level: 9 });
    await writeFile(path.join(folder, 'swagger-ui', `${file}.gz`), compressed);
  }
}

const documentationFiles = ['swagger-ui.css', 'swagger-ui-bundle.js', 'favicon-32x32.png'];

/** Folders of the packages that are in a bundle, for its bill of materials. */
function packagesJson(inputs) {
  const folders = inputs.flatMap((file) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0] ?? []);
  return JSON.stringify([...new Set(folders)].sort(), null, 2);
}

/** Files besides its sources that decide what a bundle is; the lock file has the versions of the compilers. */
const builders = [
  'tools/build/bundle.mjs',
  'tools/build/lowest-node.mjs',
  'tools/build/own-positions.mjs',
  'tools/build/swc-options.cjs',
  'package-lock.json',
];

const inputsFile = (outdir, name) => path.resolve(workspaceRoot, outdir, `${name}.inputs.json`);

function stampOf(file) {
  const { mtimeMs, size } = statSync(path.resolve(workspaceRoot, file));
  return `${mtimeMs} ${size}`;
}

function isCurrent(outdir, name, source) {
  try {
    const made = JSON.parse(readFileSync(inputsFile(outdir, name), 'utf8'));
    return made.source === source && made.files.every(([file, stamp]) => stampOf(file) === stamp);
  } catch {
    return false;
  }
}
