import type { Program } from './program';

const temporaryPaths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];

const nginx: Program = {
  template: 'nginx',
  commands: ['nginx', '/usr/sbin/nginx'],
  file: 'nginx.conf',
  config: (snippet, { folder, port }) => `
daemon off; pid ${folder}/pid; error_log ${folder}/error.log;
events {}
http {
  access_log off;
  ${temporaryPaths.map((kind) => `${kind}_temp_path ${folder}/tmp;`).join(' ')}
  server {
    listen 127.0.0.1:${port} ssl; server_name www.example.com;
    ${snippet}
    location / { return 200 "served"; }
  }
}`,
  checkArguments: (file, { folder }) => ['-t', '-c', file, '-e', `${folder}/error.log`],
  serveArguments: (file, { folder }) => ['-c', file, '-e', `${folder}/error.log`],
  lenient: true,
};

const apacheModules = '/usr/lib/apache2/modules';

const apache: Program = {
  template: 'apache',
  commands: ['apache2', '/usr/sbin/apache2'],
  needs: `${apacheModules}/mod_ssl.so`,
  file: 'apache2.conf',
  config: (snippet, { folder, port }) => `
ServerRoot ${folder}
DefaultRuntimeDir ${folder}
PidFile ${folder}/pid
ErrorLog ${folder}/error.log
ServerName www.example.com
${process.getuid?.() === 0 ? 'User www-data\nGroup www-data' : ''}
LoadModule mpm_event_module ${apacheModules}/mod_mpm_event.so
LoadModule ssl_module ${apacheModules}/mod_ssl.so
LoadModule headers_module ${apacheModules}/mod_headers.so
Listen 127.0.0.1:${port} https
<VirtualHost *:${port}>
${snippet}
</VirtualHost>`,
  checkArguments: (file) => ['-t', '-f', file],
  serveArguments: (file) => ['-D', 'FOREGROUND', '-f', file],
  lenient: true,
};

const haproxy: Program = {
  template: 'haproxy',
  commands: ['haproxy', '/usr/sbin/haproxy'],
  file: 'haproxy.cfg',
  config: (snippet, { port }) => `
defaults
  mode http
  timeout connect 5s
  timeout client 5s
  timeout server 5s
frontend site
  ${snippet.replace('bind :443', `bind 127.0.0.1:${port}`)}
  http-request return status 200
`,
  checkArguments: (file) => ['-c', '-f', file],
  serveArguments: (file) => ['-db', '-f', file],
  lenient: true,
};

const lighttpd: Program = {
  template: 'lighttpd',
  commands: ['lighttpd', '/usr/sbin/lighttpd'],
  needs: '/usr/lib/lighttpd/mod_openssl.so',
  file: 'lighttpd.conf',
  config: (snippet, { folder, port }) => `
server.modules = ( "mod_openssl", "mod_setenv" )
server.document-root = "${folder}"
server.errorlog = "${folder}/error.log"
server.bind = "127.0.0.1"
server.port = ${port}
$SERVER["socket"] == "127.0.0.1:${port}" {
${snippet}
}`,
  checkArguments: (file) => ['-tt', '-f', file],
  serveArguments: (file) => ['-D', '-f', file],
};

const caddy: Program = {
  template: 'caddy',
  commands: ['caddy'],
  file: 'Caddyfile',
  config: (snippet, { port }) => `{
	admin off
	auto_https disable_redirects
}
https://www.example.com:${port} {
	bind 127.0.0.1
${snippet}
	respond "served"
}
`,
  checkArguments: (file) => ['validate', '--adapter', 'caddyfile', '--config', file],
  serveArguments: (file) => ['run', '--adapter', 'caddyfile', '--config', file],
};

const node: Program = {
  template: 'node',
  commands: [process.execPath],
  file: 'server.mjs',
  config: (snippet, { port }) => `import { createServer } from 'node:https';
${snippet}
createServer(tlsOptions(), (_request, response) => response.end('served')).listen(${port}, '127.0.0.1');
`,
  checkArguments: (file) => ['--check', file],
  serveArguments: (file) => [file],
  lenient: true,
};

export const webServers: readonly Program[] = [nginx, apache, haproxy, lighttpd, caddy, node];
