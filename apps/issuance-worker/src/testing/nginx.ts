import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { eventually, freePort, startChild } from '@certwright/testing';

/** Path used by packages; usually not on the PATH of an ordinary user. */
const folders = ['/usr/sbin', '/usr/local/sbin', '/usr/bin', '/usr/local/bin', '/opt/homebrew/bin'];
const program = folders.map((folder) => path.join(folder, 'nginx')).find((file) => existsSync(file));

/** `apt-get install nginx-light`. Tests that need it are reported as skipped on a machine without it. */
export const isNginxInstalled = program !== undefined;

export interface RunningNginx {
  readonly port: number;
  stop(): Promise<void>;
}

/**
 * A real nginx on a free port of 127.0.0.1.
 *
 * @param servers content of each `server` block, by server name
 */
export async function startNginx(servers: Readonly<Record<string, string>>): Promise<RunningNginx> {
  if (program === undefined) throw new Error('nginx is not installed');
  const folder = mkdtempSync(path.join(tmpdir(), 'certwright-nginx-'));
  const port = await freePort();
  const blocks = Object.entries(servers).map(
    ([name, rules]) => `server { listen 127.0.0.1:${port}; server_name ${name}; access_log off; ${rules} }`,
  );
  const scratch = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (kind) => `${kind}_temp_path ${folder}/${kind};`,
  );
  mkdirSync(path.join(folder, 'logs'));
  writeFileSync(
    path.join(folder, 'nginx.conf'),
    // One process, in the foreground: a stop leaves no children, and it runs as the user of the test.
    `daemon off; master_process off; pid ${folder}/pid; error_log stderr warn;
     events {} http { ${scratch.join(' ')} ${blocks.join('\n')} }`,
  );
  const child = await startChild(program, { args: ['-p', folder, '-e', 'stderr', '-c', 'nginx.conf'] });
  let ended = false;
  void child.ended.then(() => (ended = true));
  await eventually(async () => await accepts(port), { isHopeless: () => ended }).catch((error: unknown) => {
    throw new Error(`nginx does not start: ${child.output()}`, { cause: error });
  });
  return {
    port,
    stop: async () => {
      await child.stop();
      rmSync(folder, { recursive: true });
    },
  };
}

async function accepts(port: number): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => resolve(void socket.destroy()));
    socket.once('error', reject);
  });
}
