// `nx build <app>` and `nx serve <app>`: one bundle per entry point (main.ts, and openapi.ts where an app has one).
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { bundle, bundleOptions, workspaceRoot } from './bundle.mjs';

const [projectRoot, mode] = process.argv.slice(2);
const entryPoints = {};
for (const name of ['main', 'openapi']) {
  const source = `${projectRoot}/src/${name}.ts`;
  if (existsSync(path.join(workspaceRoot, source))) entryPoints[name] = source;
}
const outdir = `dist/${projectRoot}`;

if (mode !== '--serve') {
  await bundle(entryPoints, outdir);
} else {
  await serve();
}

/** Rebuilds on change and restarts the process after each good build. */
async function serve() {
  const esbuild = createRequire(import.meta.url)('esbuild');
  let child;
  const restart = {
    name: 'restart',
    setup(build) {
      build.onEnd(({ errors }) => {
        if (errors.length > 0) return;
        const start = () => {
          child = spawn(process.execPath, ['--enable-source-maps', `${outdir}/main.js`], {
            cwd: workspaceRoot,
            stdio: 'inherit',
          });
        };
        if (child === undefined || child.exitCode !== null) return start();
        child.once('exit', start);
        child.kill('SIGTERM');
      });
    },
  };
  const options = bundleOptions(entryPoints, outdir);
  const context = await esbuild.context({ ...options, plugins: [...options.plugins, restart] });
  await context.watch();
  for (const signal of ['SIGINT', 'SIGTERM']) {
    process.once(signal, async () => {
      await context.dispose();
      if (child === undefined || child.exitCode !== null) process.exit(0);
      child.once('exit', (code) => process.exit(code ?? 0));
      child.kill('SIGTERM');
    });
  }
}
