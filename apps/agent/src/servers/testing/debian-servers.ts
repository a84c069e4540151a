import { execFileSync } from 'node:child_process';
import { chownSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { type Place, type RealServer, servedName } from './real-server';

const isRoot = process.getuid?.() === 0;
const idOf = (user: string, flag: '-u' | '-g' = '-u') =>
  Number(execFileSync('id', [flag, user], { encoding: 'utf8' }));

const asUser = (user: string, ...command: readonly string[]) =>
  isRoot
    ? ['/usr/bin/setpriv', `--reuid=${user}`, `--regid=${user}`, '--clear-groups', ...command]
    : [...command];

const nginx: RealServer = {
  name: 'nginx',
  needs: ['/usr/sbin/nginx'],
  format: 'folder',
  starttls: [null],
  file: 'nginx.conf',
  config: ({ folder, ports: [port], certificate, key }) => `
daemon off; pid ${folder}/pid; error_log ${folder}/error.log;
worker_processes 1;
events {}
http {
  access_log off;
  ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((kind) => `${kind}_temp_path ${folder}/${kind};`).join(' ')}
  server {
    listen 127.0.0.1:${port} ssl; server_name ${servedName};
    ssl_certificate ${certificate}; ssl_certificate_key ${key};
    location / { return 200 "served"; }
  }
}
`,
  mistake: 'no_such_directive;\n',
  start: (place) => nginxCommand(place),
  test: (place) => nginxCommand(place, '-t'),
  reload: (place) => nginxCommand(place, '-s', 'reload'),
  pidFile: 'pid',
};

const nginxCommand = ({ folder }: Place, ...args: readonly string[]) => [
  '/usr/sbin/nginx',
  '-c',
  `${folder}/nginx.conf`,
  '-e',
  `${folder}/error.log`,
  ...args,
];

const apacheModules = '/usr/lib/apache2/modules';

const apache: RealServer = {
  name: 'Apache',
  needs: ['/usr/sbin/apache2', `${apacheModules}/mod_ssl.so`],
  format: 'folder',
  starttls: [null],
  file: 'apache2.conf',
  config: ({ folder, ports: [port], certificate, key }) => `
ServerRoot ${folder}
DefaultRuntimeDir ${folder}
PidFile ${folder}/pid
ErrorLog ${folder}/error.log
ServerName ${servedName}
StartServers 1
${isRoot ? 'User www-data\nGroup www-data' : ''}
LoadModule mpm_event_module ${apacheModules}/mod_mpm_event.so
LoadModule ssl_module ${apacheModules}/mod_ssl.so
Listen 127.0.0.1:${port} https
<VirtualHost *:${port}>
SSLEngine on
SSLCertificateFile ${certificate}
SSLCertificateKeyFile ${key}
</VirtualHost>
`,
  mistake: 'NoSuchDirective on\n',
  start: ({ folder }) => ['/usr/sbin/apache2', '-D', 'FOREGROUND', '-f', `${folder}/apache2.conf`],
  test: ({ folder }) => ['/usr/sbin/apache2', '-t', '-f', `${folder}/apache2.conf`],
  reload: ({ folder }) => ['/usr/sbin/apache2', '-k', 'graceful', '-f', `${folder}/apache2.conf`],
  pidFile: 'pid',
};

const haproxy: RealServer = {
  name: 'HAProxy',
  needs: ['/usr/sbin/haproxy'],
  format: 'combined',
  mode: 0o640,
  starttls: [null],
  file: 'haproxy.cfg',
  config: ({ ports: [port], certificate }) => `
defaults
  mode http
  timeout connect 5s
  timeout client 5s
  timeout server 5s
frontend site
  bind 127.0.0.1:${port} ssl crt ${certificate}
  http-request return status 200
`,
  mistake: 'no such section\n',
  start: ({ folder }) => ['/usr/sbin/haproxy', '-W', '-p', `${folder}/pid`, '-f', `${folder}/haproxy.cfg`],
  test: ({ folder }) => ['/usr/sbin/haproxy', '-c', '-f', `${folder}/haproxy.cfg`],
  reload: ({ folder }) => ['/bin/sh', '-c', haproxyReload, `${folder}/spec-pid`],
};

/**
 * As `systemctl reload haproxy` does, and then waits at most 5 s until HAProxy catches the signal again (bit 11 of
 * `SigCgt`) and has a new worker: HAProxy 2.6 ignores the signal while it reloads. Reloads by the agent are 10 s
 * apart; in these specs they follow each other at once.
 */
const haproxyReload = `
master=$(head -1 "$0")
workers() { cat "/proc/$master/task/$master/children"; }
has_new_worker() { for worker in $(workers); do case " $before " in *" $worker "*) ;; *) return 0 ;; esac; done; return 1; }
catches() { grep -q '^SigCgt:.*[89a-f]..$' "/proc/$master/status"; }
left=250
within() { until "$@" || [ $left -eq 0 ]; do left=$((left - 1)); sleep 0.02; done; }
within catches
before=$(workers)
kill -USR2 "$master"
within has_new_worker
within catches
`;

const lighttpd: RealServer = {
  name: 'lighttpd',
  needs: ['/usr/sbin/lighttpd', '/usr/lib/lighttpd/mod_openssl.so'],
  format: 'combined',
  ...(isRoot ? { owner: 'www-data' } : {}),
  starttls: [null],
  file: 'lighttpd.conf',
  config: ({ folder, ports: [port], certificate }) => `
server.modules = ( "mod_openssl" )
server.document-root = "${folder}"
server.pid-file = "${folder}/pid"
server.bind = "127.0.0.1"
server.port = ${port}
${isRoot ? 'server.username = "www-data"\nserver.groupname = "www-data"' : ''}
ssl.engine = "enable"
ssl.pemfile = "${certificate}"
`,
  mistake: 'no such setting\n',
  start: ({ folder }) => ['/usr/sbin/lighttpd', '-D', '-f', `${folder}/lighttpd.conf`],
  test: ({ folder }) => ['/usr/sbin/lighttpd', '-t', '-f', `${folder}/lighttpd.conf`],
  reload: ({ folder }) => ['/bin/sh', '-c', 'kill -USR1 "$(cat "$0")"', `${folder}/spec-pid`],
};

/** Its administration is on a socket instead of a port. */
const caddy: RealServer = {
  name: 'Caddy',
  needs: ['/usr/bin/caddy'],
  format: 'combined',
  ...(isRoot ? { owner: 'caddy' } : {}),
  starttls: [null],
  file: 'Caddyfile',
  config: ({ folder, ports: [port], certificate, key }) => `{
	admin unix/${folder}/run/admin
	auto_https disable_redirects
	storage file_system ${folder}/run
}
https://${servedName}:${port} {
	bind 127.0.0.1
	tls ${certificate} ${key}
	respond "served"
}
`,
  mistake: '}\n',
  prepare: ({ folder }) => {
    mkdirSync(path.join(folder, 'run'));
    if (isRoot) chownSync(path.join(folder, 'run'), idOf('caddy'), idOf('caddy', '-g'));
  },
  start: ({ folder }) => asUser('caddy', '/usr/bin/caddy', 'run', '--config', `${folder}/Caddyfile`),
  test: ({ folder }) => ['/usr/bin/caddy', 'validate', '--config', `${folder}/Caddyfile`],
  reload: ({ folder }) => ['/usr/bin/caddy', 'reload', '--config', `${folder}/Caddyfile`, '--force'],
};

/** Logs to the system's log, if there is one: its own log service would block each command while the configuration is broken. */
const postfix: RealServer = {
  name: 'Postfix',
  needs: ['/usr/sbin/postfix', '/usr/sbin/postconf'],
  needsRoot: true,
  format: 'combined',
  starttls: ['smtp'],
  file: 'main.cf',
  config: ({ folder, certificate }) => `
compatibility_level = 3.6
queue_directory = ${folder}/queue
data_directory = ${folder}/data
inet_interfaces = loopback-only
inet_protocols = ipv4
myhostname = ${servedName}
mynetworks_style = host
alias_maps =
alias_database =
smtpd_tls_security_level = may
smtpd_tls_chain_files = ${certificate}
# One process serves all connections until a reload: otherwise each new one reads the files, with or without a reload.
max_use = 100000
max_idle = 1d
`,
  mistake: 'no such setting\n',
  prepare: ({ folder, ports: [port] }) => {
    writeFileSync(
      path.join(folder, 'master.cf'),
      `127.0.0.1:${port} inet n - n - 1 smtpd
tlsmgr unix - - n 1000? 1 tlsmgr
anvil unix - - n - 1 anvil
proxymap unix - - n - - proxymap
rewrite unix - - n - - trivial-rewrite
`,
    );
    for (const name of ['queue', 'data']) mkdirSync(path.join(folder, name));
    chownSync(path.join(folder, 'data'), idOf('postfix'), 0);
    // Makes the folders of the queue.
    execFileSync('/usr/sbin/postfix', ['-c', folder, 'check'], { stdio: 'pipe' });
  },
  start: ({ folder }) => [
    path.join(
      execFileSync('/usr/sbin/postconf', ['-h', 'daemon_directory'], { encoding: 'utf8' }).trim(),
      'master',
    ),
    '-d',
    '-c',
    folder,
  ],
  test: ({ folder }) => ['/usr/sbin/postfix', '-c', folder, 'check'],
  reload: ({ folder }) => ['/usr/sbin/postfix', '-c', folder, 'reload'],
};

const dovecot: RealServer = {
  name: 'Dovecot',
  needs: ['/usr/sbin/dovecot', '/usr/lib/dovecot/imap', '/usr/lib/dovecot/pop3'],
  needsRoot: true,
  format: 'folder',
  starttls: ['imap', 'pop3'],
  file: 'dovecot.conf',
  config: ({ folder, ports: [imap, pop3], certificate, key }) => `
base_dir = ${folder}/run
state_dir = ${folder}/state
log_path = /dev/stderr
protocols = imap pop3
listen = 127.0.0.1
ssl = yes
ssl_cert = <${certificate}
ssl_key = <${key}
passdb {
  driver = static
  args = password=spec
}
service imap-login {
  inet_listener imap {
    port = ${imap}
  }
  inet_listener imaps {
    port = 0
  }
}
service pop3-login {
  inet_listener pop3 {
    port = ${pop3}
  }
  inet_listener pop3s {
    port = 0
  }
}
`,
  mistake: 'no_such_setting = yes\n',
  start: ({ folder }) => ['/usr/sbin/dovecot', '-F', '-c', `${folder}/dovecot.conf`],
  test: ({ folder }) => ['/usr/bin/doveconf', '-n', '-c', `${folder}/dovecot.conf`],
  reload: ({ folder }) => ['/usr/sbin/dovecot', '-c', `${folder}/dovecot.conf`, 'reload'],
};

const postgresFolder = ((): string => {
  try {
    const [newest = ''] = readdirSync('/usr/lib/postgresql').sort((a, b) => Number(b) - Number(a));
    return `/usr/lib/postgresql/${newest}/bin`;
  } catch {
    return '/usr/lib/postgresql/none';
  }
})();
/** PostgreSQL does not run as root. */
const asPostgres = (...command: readonly string[]) => asUser('postgres', ...command);

const postgres: RealServer = {
  name: 'PostgreSQL',
  needs: [`${postgresFolder}/postgres`],
  format: 'combined',
  ...(isRoot ? { owner: 'postgres' } : {}),
  starttls: ['postgres'],
  file: 'certwright.conf',
  config: ({ folder, ports: [port], certificate, key }) => `
listen_addresses = '127.0.0.1'
port = ${port}
unix_socket_directories = '${folder}/cluster'
ssl = on
ssl_cert_file = '${certificate}'
ssl_key_file = '${key}'
fsync = off
`,
  mistake: 'no such setting\n',
  prepare: ({ folder }) => {
    const data = path.join(folder, 'cluster');
    mkdirSync(data, { mode: 0o700 });
    if (isRoot) chownSync(data, idOf('postgres'), idOf('postgres', '-g'));
    const [command = '', ...args] = asPostgres(`${postgresFolder}/initdb`, '-D', data, '-N', '-A', 'trust');
    execFileSync(command, args, { stdio: 'pipe', cwd: '/' });
    writeFileSync(path.join(data, 'postgresql.conf'), `include '${folder}/certwright.conf'\n`);
  },
  start: ({ folder }) => asPostgres(`${postgresFolder}/postgres`, '-D', `${folder}/cluster`),
  // It has no test of its own; this reads the whole configuration.
  test: ({ folder }) => asPostgres(`${postgresFolder}/postgres`, '-D', `${folder}/cluster`, '-C', 'port'),
  reload: ({ folder }) => asPostgres(`${postgresFolder}/pg_ctl`, 'reload', '-D', `${folder}/cluster`),
  // A fast shutdown: it does not wait for clients.
  stopSignal: 'SIGINT',
};

export const debianServers: readonly RealServer[] = [
  nginx,
  apache,
  haproxy,
  lighttpd,
  caddy,
  postfix,
  dovecot,
  postgres,
];

/** What the file with the key has, as configured. */
export const accessOf = ({ owner, mode }: RealServer) => ({
  uid: owner === undefined ? process.getuid?.() : idOf(owner),
  mode: mode ?? 0o600,
});
