import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { AddressGuard } from '@certwright/outbound';
import { Metrics, type RunningProcess } from '@certwright/service';
import { eventually, freePort, startChild, type Child } from '@certwright/testing';
import { serveLoopbackNames } from './testing/loopback-names';
import { says, serveSite, type WebSite } from './testing/web-site';
import { WebRuleProbe } from './web-rule/web-rule-probe';

const nginx = findNginx();
/** Shown as skipped where no nginx is installed (Debian: nginx-light). */
const withNginx = nginx === null ? describe.skip : describe;

function findNginx(): string | null {
  for (const command of ['nginx', '/usr/sbin/nginx']) {
    try {
      execFileSync(command, ['-v'], { stdio: 'ignore' });
      return command;
    } catch {
      // Not there.
    }
  }
  return null;
}

withNginx('a rule in a real nginx', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'certwright-nginx-'));
  const rule = randomUUID();
  let names: Awaited<ReturnType<typeof serveLoopbackNames>>;
  let behind: WebSite;
  let server: Child;
  let ports: { readonly http: number; readonly https: number };

  beforeAll(async () => {
    names = await serveLoopbackNames();
    behind = await serveSite({ '/approval/token': says(rule) });
    ports = { http: await freePort(), https: await freePort() };
    server = await startNginx();
  }, 20_000);
  afterAll(async () => {
    await server.stop();
    await behind.close();
    await names.close();
    rmSync(folder, { recursive: true });
  });

  /** The three rules of the customers' guide: a proxy, a redirect to it, and one server that sends everybody to https. */
  async function startNginx(): Promise<Child> {
    const config = `
      daemon off; pid ${folder}/pid; error_log ${folder}/error.log;
      events {}
      http {
        access_log off;
        ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((kind) => `${kind}_temp_path ${folder}/tmp;`).join(' ')}
        ssl_certificate ${folder}/pem; ssl_certificate_key ${folder}/pem;
        server {
          listen 127.0.0.1:${ports.http}; listen 127.0.0.1:${ports.https} ssl; server_name proxy.example.com;
          location /.well-known/approval/ { proxy_pass http://127.0.0.1:${behind.port}/approval/; }
        }
        server {
          listen 127.0.0.1:${ports.http}; server_name redirect.example.com;
          location /.well-known/approval/ {
            return 302 http://proxy.example.com:${ports.http}$request_uri;
          }
        }
        server {
          listen 127.0.0.1:${ports.http}; server_name secure.example.com;
          return 301 https://proxy.example.com:${ports.https}$request_uri;
        }
      }`;
    mkdirSync(path.join(folder, 'tmp'));
    const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', '-'];
    const pem = execFileSync('openssl', ['req', '-x509', ...newKey, '-subj', '/CN=old.example'], {
      stdio: 'pipe',
    });
    writeFileSync(path.join(folder, 'pem'), pem);
    writeFileSync(path.join(folder, 'conf'), config);
    const child = await startChild(nginx ?? '', {
      args: ['-c', path.join(folder, 'conf'), '-e', path.join(folder, 'error.log')],
    });
    await eventually(() => reachable(ports.http), { withinMs: 10_000 });
    return child;
  }

  const look = (dnsName: string, file = 'token') =>
    new WebRuleProbe(
      new AddressGuard({ allowedNetworks: ['127.0.0.0/8'], resolvers: [names.address] }),
      { HTTP_PORT: ports.http, REDIRECT_PORTS: [ports.https] },
      { metrics: new Metrics('spec') } as RunningProcess,
    ).respond({ dnsName, path: `/.well-known/approval/${file}` });

  it.each([
    ['proxy.example.com', 1],
    ['redirect.example.com', 2],
    ['secure.example.com', 2],
  ])('is found at %s, in %d hops', async (dnsName, hops) => {
    const response = await look(dnsName);
    expect(response).toMatchObject({ kind: 'answered', status: 200, body: rule });
    expect(response.hops).toHaveLength(hops);
  });

  it('is not found at another path', async () => {
    expect(await look('proxy.example.com', 'other')).toMatchObject({ kind: 'answered', status: 404 });
  });
});

function reachable(port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve();
    });
    socket.once('error', reject);
  });
}
