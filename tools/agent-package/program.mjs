// @ts-check
// The agent as one plain file for Node.js, and as a single executable that contains Node.js.
import { chmodSync, copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { bundleOptions } from '../build/bundle.mjs';
import { run } from '../embedded/child.mjs';
import { nodeProgram } from '../images/context.mjs';
import { stripElf } from '../images/strip-elf.mjs';
import { nodeBinary, workspaceRoot } from '../up/workspace.mjs';

const require = createRequire(import.meta.url);

/**
 * @param {string} file
 * @param {string} version what `certwright-agent --version` prints
 */
export async function writePlainFile(file, version) {
  const options = bundleOptions({ main: 'apps/agent/src/main.ts' }, 'dist/apps/agent');
  const { outputFiles } = await require('esbuild').build({
    ...options,
    // A host has no sources. Positions refer to the file itself.
    sourcemap: false,
    define: { ...options.define, AGENT_VERSION: JSON.stringify(version) },
    write: false,
  });
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, `#!/usr/bin/env node\n${outputFiles[0].text}`);
  chmodSync(file, 0o755);
}

/** Of V8: a third less memory at 50 orders, and no measurable time. */
export const memoryFlags = ['--max-semi-space-size=1', '--optimize-for-size', '--single-threaded-gc'];

/** Marks the place of the blob in Node.js ("Single executable applications" of its documentation). */
const FUSE = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2';

/**
 * The blob is made by this machine's Node.js and is the same for every processor, since it contains no compiled code.
 * @param {string} file
 * @param {{ plainFile: string, architecture: import('../images/context.mjs').Architecture }} what
 */
export async function writeSingleExecutable(file, { plainFile, architecture }) {
  const folder = path.dirname(file);
  const blob = `${file}.blob`;
  const config = {
    // Relative, since the executable contains the path.
    main: path.basename(plainFile),
    output: path.basename(blob),
    disableExperimentalSEAWarning: true,
    useSnapshot: false,
    useCodeCache: false,
    // Roots that the operator has installed on the host.
    execArgv: ['--use-system-ca', ...memoryFlags],
    // Otherwise NODE_OPTIONS=--require=… would run other code in the agent.
    execArgvExtension: 'none',
  };
  copyFileSync(plainFile, path.join(folder, config.main));
  writeFileSync(`${file}.json`, JSON.stringify(config));
  await run(nodeBinary(), ['--experimental-sea-config', `${file}.json`], { cwd: folder });
  writeFileSync(file, stripElf(readFileSync(await nodeProgram(architecture))));
  chmodSync(file, 0o755);
  // Its library calls process.exit on some errors, so it runs as a process.
  const postject = path.join(path.dirname(require.resolve('postject')), 'cli.js');
  await run(process.execPath, [postject, file, 'NODE_SEA_BLOB', blob, '--sentinel-fuse', FUSE], {
    cwd: workspaceRoot,
  });
}
