import { execFileSync } from 'node:child_process';
import { chownSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Program } from './program';

const postfix: Program = {
  template: 'postfix',
  commands: ['postconf', '/usr/sbin/postconf'],
  file: 'main.cf',
  config: (snippet, { folder, port }) => {
    writeFileSync(path.join(folder, 'master.cf'), postfixServices(port));
    return `
compatibility_level = 3.6
queue_directory = ${folder}/queue
data_directory = ${folder}/data
maillog_file_prefixes = ${folder}
maillog_file = ${folder}/error.log
inet_interfaces = loopback-only
myhostname = www.example.com
mynetworks_style = host
alias_maps =
${snippet}`;
  },
  checkArguments: (_file, { folder }) => ['-c', folder, '-n'],
  needsRoot: true,
  prepare: ({ folder }) => {
    for (const name of ['queue', 'data']) mkdirSync(path.join(folder, name));
    const user = Number(execFileSync('id', ['-u', 'postfix'], { encoding: 'utf8' }));
    chownSync(path.join(folder, 'data'), user, 0);
    // Makes the folders of the queue.
    execFileSync('/usr/sbin/postfix', ['-c', folder, 'check'], { stdio: 'pipe' });
  },
  // The command `postfix` would start it in a session of its own, which the spec cannot end.
  server: () =>
    path.join(
      execFileSync('/usr/sbin/postconf', ['-h', 'daemon_directory'], { encoding: 'utf8' }).trim(),
      'master',
    ),
  serveArguments: (_file, { folder }) => ['-d', '-c', folder],
  startTls: true,
  lenient: true,
};

/** As for submission: TLS is obligatory. */
const postfixServices = (port: number): string => `
127.0.0.1:${port} inet n - n - - smtpd
  -o smtpd_tls_security_level=encrypt
postlog unix-dgram n - n - 1 postlogd
tlsmgr unix - - n 1000? 1 tlsmgr
anvil unix - - n - 1 anvil
proxymap unix - - n - - proxymap
rewrite unix - - n - - trivial-rewrite
`;

/** The administration's listener in place of those of IMAP, a separate package: all take the same settings. */
const dovecot: Program = {
  template: 'dovecot',
  commands: ['doveconf'],
  file: 'dovecot.conf',
  config: (snippet, { folder, port }) => `
base_dir = ${folder}/run
state_dir = ${folder}/state
log_path = /dev/stderr
protocols =
doveadm_password = spec
service doveadm {
  inet_listener {
    address = 127.0.0.1
    port = ${port}
    ssl = yes
  }
}
${snippet}`,
  checkArguments: (file) => ['-c', file, '-n'],
  server: () => 'dovecot',
  needsRoot: true,
  serveArguments: (file) => ['-F', '-c', file],
  lenient: true,
};

export const mailServers: readonly Program[] = [postfix, dovecot];
