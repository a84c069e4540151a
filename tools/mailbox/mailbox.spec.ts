import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type Child, eventually, startChild } from '@certwright/testing';
import { createTransport } from 'nodemailer';

const workspaceRoot = path.join(__dirname, '../..');
const outdir = 'dist/tools/mailbox';
let folder: string;

beforeAll(() => {
  const program = `import('./tools/build/bundle.mjs').then(({ bundle }) => bundle({ main: 'tools/mailbox/main.ts' }, '${outdir}'))`;
  execFileSync(process.execPath, ['-e', program], { cwd: workspaceRoot });
  folder = mkdtempSync(path.join(tmpdir(), 'certwright-mailbox-spec-'));
}, 60_000);
afterAll(() => rmSync(folder, { recursive: true }));

interface Running {
  readonly child: Child;
  readonly smtpPort: number;
  readonly web: string;
}

async function startMailbox(): Promise<Running> {
  const child = await startChild(process.execPath, {
    args: [path.join(workspaceRoot, outdir, 'main.js')],
    env: {
      MAILBOX_SMTP_PORT: '0',
      MAILBOX_WEB_PORT: '0',
      MAILBOX_DIR: path.join(folder, 'mails'),
      PID_FILE: path.join(folder, 'mailbox.pid'),
    },
  });
  await child.says(/"started"/, 20_000);
  const line = child
    .output()
    .split('\n')
    .find((text) => text.includes('"started"'));
  const { smtp, web } = JSON.parse(String(line)) as { smtp: string; web: string };
  return { child, smtpPort: Number(smtp.split(':')[1]), web };
}

const subjects = async (web: string) => {
  const mails = (await (await fetch(`${web}/api/email`)).json()) as { subject: string }[];
  return mails.map(({ subject }) => subject);
};

describe('the local mailbox', () => {
  it('accepts mail, shows it on loopback, stores it across a restart, and stops cleanly', async () => {
    const first = await startMailbox();
    expect((await fetch(`${first.web}/api/healthz`)).status).toBe(200);
    const page = await fetch(first.web, { headers: { accept: 'text/html' } });
    expect(page.headers.get('content-type')).toContain('text/html');
    expect(readFileSync(path.join(folder, 'mailbox.pid'), 'utf8')).toBe(`${first.child.pid}\n`);
    const transport = createTransport({ host: '127.0.0.1', port: first.smtpPort });
    await transport.sendMail({ from: 'a@example.com', to: 'b@example.com', subject: 'Grüße', text: 'x' });
    await eventually(async () => expect(await subjects(first.web)).toEqual(['Grüße']));
    expect((await first.child.stop()).code).toBe(0);
    expect(existsSync(path.join(folder, 'mailbox.pid'))).toBe(false);

    const second = await startMailbox();
    await eventually(async () => expect(await subjects(second.web)).toEqual(['Grüße']));
    expect((await second.child.stop()).code).toBe(0);
  }, 60_000);

  // The kernel's list of sockets is a file on Linux only.
  (process.platform === 'linux' ? it : it.skip)(
    'listens on loopback only',
    async () => {
      const { child } = await startMailbox();
      // The kernel's own list: local addresses of sockets that listen (state 0A) and belong to this process.
      const inodes = execFileSync('sh', [
        '-c',
        `ls -l /proc/${child.pid}/fd | grep -o 'socket:.[0-9]*' | tr -dc '0-9\\n'`,
      ])
        .toString()
        .split('\n');
      const listening = ['tcp', 'tcp6']
        .flatMap((table) =>
          readFileSync(`/proc/${child.pid}/net/${table}`, 'utf8').trim().split('\n').slice(1),
        )
        .map((row) => row.trim().split(/\s+/))
        .filter((columns) => columns[3] === '0A' && inodes.includes(columns[9] ?? ''))
        .map((columns) => columns[1]?.split(':')[0]);
      expect(listening).toEqual(['0100007F', '0100007F']);
      await child.stop();
    },
    60_000,
  );
});
