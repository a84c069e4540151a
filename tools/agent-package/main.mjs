// @ts-check
// `npm run agent-package`: Debian packages of the agent for amd64 and arm64, and the plain file for other systems.
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { run } from '../embedded/child.mjs';
import { nodeProgram } from '../images/context.mjs';
import { workspaceRoot } from '../up/workspace.mjs';
import { writeDebianPackage } from './debian-package.mjs';
import { writePlainFile, writeSingleExecutable } from './program.mjs';

const usage = `Builds the agent: Debian packages with a single executable, and a plain file for Node.js 20.19 or newer.

  npm run agent-package

  --architecture amd64   or arm64; may be repeated; default: both
  --plain                only the plain file
  --compression none     default: xz, which takes most of the time
  --output <folder>      default: dist/agent-package

The same commit gives the same bytes. Needs dpkg-deb. Node.js for the other processor is downloaded once.
`;

/** @param {string} message @returns {never} */
function wrongUsage(message) {
  console.error(`${message}\n\n${usage}`);
  process.exit(2);
}

/** @returns {{ architecture?: string[], plain?: boolean, compression: string, output: string, help?: boolean }} */
function options() {
  try {
    return parseArgs({
      options: {
        architecture: { type: 'string', multiple: true },
        plain: { type: 'boolean' },
        compression: { type: 'string', default: 'xz' },
        output: { type: 'string', default: path.join(workspaceRoot, 'dist/agent-package') },
        help: { type: 'boolean' },
      },
    }).values;
  } catch (error) {
    return wrongUsage(error instanceof Error ? error.message : String(error));
  }
}

/**
 * A release is the commit of its tag. Every other commit has a version below the release that follows, which Debian orders
 * by the time of the commit.
 */
async function versionOfCommit() {
  const git = async (/** @type {string[]} */ ...args) =>
    (await run('git', args, { cwd: workspaceRoot })).stdout.trim();
  const { version } = JSON.parse(readFileSync(path.join(workspaceRoot, 'package.json'), 'utf8'));
  const [hash = '', time = ''] = (await git('log', '-1', '--format=%h %ct', '--abbrev=10')).split(' ');
  const changes = await git('status', '--porcelain', '--untracked-files=no');
  const tags = await git('tag', '--points-at', 'HEAD');
  const isRelease = changes === '' && tags.split('\n').includes(`v${version}`);
  const instant = new Date(Number(time) * 1000).toISOString().replace(/\D/g, '').slice(0, 14);
  const suffix = isRelease ? '' : `~git${instant}.${hash}${changes === '' ? '' : '.changed'}`;
  return { version: `${version}${suffix}`, epoch: Number(process.env.SOURCE_DATE_EPOCH ?? time) };
}

const values = options();
if (values.help) {
  process.stdout.write(usage);
  process.exit(0);
}
const architectures = (values.architecture ?? ['amd64', 'arm64']).map((name) => {
  if (name === 'amd64' || name === 'arm64') return name;
  return wrongUsage(`There is no package for ${name}: choose amd64 or arm64.`);
});
const { compression } = values;
if (compression !== 'xz' && compression !== 'none')
  wrongUsage(`There is no compression ${compression}: choose xz or none.`);

try {
  const output = path.resolve(values.output);
  const scratch = path.join(output, 'build');
  const { version, epoch } = await versionOfCommit();
  mkdirSync(scratch, { recursive: true });
  const plainFile = path.join(output, 'certwright-agent.cjs');
  await writePlainFile(plainFile, version);
  report(plainFile);
  for (const architecture of values.plain ? [] : architectures) {
    const executable = path.join(scratch, `certwright-agent-${architecture}`);
    await writeSingleExecutable(executable, { plainFile, architecture });
    const nodeLicense = path.join(path.dirname(await nodeProgram(architecture)), '../LICENSE');
    const file = path.join(output, `certwright-agent_${version}_${architecture}.deb`);
    await writeDebianPackage(path.join(scratch, architecture), file, {
      executable,
      nodeLicense,
      architecture,
      version,
      epoch,
      compression,
    });
    report(file);
  }
  rmSync(scratch, { recursive: true });
  // The helper process of esbuild would keep this one.
  process.exit(0);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exit(1);
}

/** @param {string} file */
function report(file) {
  const content = readFileSync(file);
  const sha256 = createHash('sha256').update(content).digest('hex');
  console.log(`${file}  ${(content.length / 1e6).toFixed(1)} MB  sha256 ${sha256}`);
}
