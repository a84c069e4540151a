// Reports a certificate that was not ordered here: a monitored domain, a certificate of our own, one of an unrelated CA.
// Then a server of ours presents the wrong certificate, and is corrected.
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:tls';
import {
  download,
  environment,
  explain,
  fail,
  http,
  need,
  orderCertificate,
  parse,
  publish,
  read,
  say,
  shell,
  started,
  step,
  until,
  useFolder,
  write,
} from './steps.mjs';

const suffix = randomBytes(2).toString('hex');
const zone = started.demo_zone;
const ours = `shop-${suffix}.${zone}`;
const theirs = `login-${suffix}.${zone}`;
const certificates = '/api/v3/monitoring/certificates';
const monitoringApi = { api: 'MONITORING' };
/** One of the ports of endpoints that needs no privileges. */
const serverPort = 8443;

/** Alerts that the receiver got. */
const alerts = [];

useFolder(`monitoring-${suffix}`);
Object.assign(environment, {
  ...{ MONITORING: started.apis.monitoring, LOG: started.demo_log, ZONE: zone },
  ...{ OURS: ours, THEIRS: theirs },
});

need('openssl');
need('curl');
explain(
  `API is ${environment.API}, MONITORING is ${environment.MONITORING}; API_KEY is the key of your sandbox account.`,
);

step('Register a webhook for alerts');
const receiver = await startReceiver();
write('webhook.json', JSON.stringify({ url: receiver.url, events: ['monitoring.*'] }));
const webhook = http('POST', '/api/v3/account/webhooks', 'webhook.json');

step(`Monitor ${zone} and all names below it`);
write('domain.json', '{}');
const domain = http('POST', `/api/v3/monitoring/monitored_domains/.${zone}`, 'domain.json', monitoringApi);
explain(JSON.stringify(domain));

step('Order a certificate for one of these names');
newKey('key', 'OURS', '-outform DER -out request.der');
const { order, record } = orderCertificate(ours);
publish(record);
write('chain.pem', await download(order.current_cert_download));
const known = await finding(ours);
explain(`Found in the log: ${known.state} (${known.reason}, order ${known.order}).`);
if (known.state !== 'known') fail('The certificate of the order is not recognized.');
if (alertsOf(ours).length > 0) fail('There is an alert for the certificate of the order.');
explain('No alert: it is yours.');

step('An unrelated CA issues a certificate for another name, and logs it');
shell('openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out ca.key');
shell(
  'openssl req -x509 -new -key ca.key -subj "/O=Unrelated CA" -days 30 ' +
    '-addext "basicConstraints=critical,CA:TRUE" -outform PEM -out ca.pem',
);
newKey('their', 'THEIRS', '-out their.csr');
const loggedAt = logCertificate('their-1');

step('The alert');
const alert = await until('alert', async () => alertsOf(theirs)[0]);
explain(`Received ${((alert.at - loggedAt) / 1000).toFixed(1)} s after the log accepted the certificate:`);
say(JSON.stringify({ ...alert.body, issuance: { ...alert.body.issuance, cert_der: '…' } }, null, 2));
const mail = await until('mail', mailAbout(theirs, 'monitor'));
explain(`Mail to ${mail.to}: ${mail.subject}`);
say(mail.text);

step('Authorize the key: certificates with it are known from now on');
const key = http('POST', '/api/v3/monitoring/known_keys', 'their.csr', {
  ...monitoringApi,
  type: 'application/x-pem-file',
});
explain(JSON.stringify(key));
logCertificate('their-2');
await until('authorized certificates', async () => {
  const found = await findings(theirs);
  return found.length === 2 && found.every(({ reason }) => reason === 'known_key') ? found : undefined;
});
if (alertsOf(theirs).length > 1) fail('There is a further alert.');
explain('Both certificates are known, and there was no further alert.');

step(`The server of ${ours} presents the other certificate`);
const server = await startServer();
publish({ name: ours, type: 'A', value: '127.0.0.1' });
write('ports.json', JSON.stringify({ ports: [serverPort] }));
http('POST', `/api/v3/monitoring/endpoints/${ours}`, 'ports.json', monitoringApi);
const reportMs = 150_000;
const problem = await until('report', async () => reportOf('problem', 'wrong_name'), reportMs);
explain('Received, after three checks found the same:');
say(JSON.stringify(problem.body, null, 2));
const problemMail = await until('mail', mailAbout(ours, 'for other names'));
explain(`Mail to ${problemMail.to}: ${problemMail.subject}`);
say(problemMail.text);

step('Install the certificate of the order');
server.setSecureContext({ key: read('key.key'), cert: read('chain.pem') });
const recovered = await until('report', async () => reportOf('recovered', 'wrong_name'), reportMs);
explain(
  `Received: ${recovered.event} with ${recovered.body.findings.map(({ finding }) => finding).join(', ')}`,
);
const { state, findings: left } = await endpoint(ours);
explain(`The endpoint is ${state}.`);
if (left.some(({ finding }) => finding !== 'unreachable' && finding !== 'expiring'))
  fail(JSON.stringify(left, null, 2));
server.close();

shell(`curl -sS -X DELETE "$API/api/v3/account/webhooks/${webhook.id}" -H "Authorization: Bearer $API_KEY"`);
receiver.close();

/** Creates a key and a CSR for the name in a variable. */
function newKey(file, variable, output) {
  shell(`openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out ${file}.key`);
  shell(`openssl req -new -key ${file}.key -subj / -addext "subjectAltName=DNS:$${variable}" ${output}`);
}

/** @returns when the log had it, ms */
function logCertificate(file) {
  shell(
    `openssl x509 -req -in their.csr -CA ca.pem -CAkey ca.key -days 20 -copy_extensions copy -outform PEM -out ${file}.pem`,
  );
  const chain = [`${file}.pem`, 'ca.pem'].map((each) => read(each).replace(/-----[^-]+-----|\s/g, ''));
  write(`${file}.json`, JSON.stringify({ chain }));
  const sct = parse(
    shell(`curl -sS "$LOG/rfc6962/ct/v1/add-chain" -H "Content-Type: application/json" --data @${file}.json`),
  );
  if (sct.timestamp === undefined) fail(JSON.stringify(sct));
  return Date.now();
}

async function findings(name) {
  const query = `?monitored_domain=${encodeURIComponent(`.${zone}`)}`;
  const response = await fetch(`${environment.MONITORING}${certificates}${query}`, {
    headers: { authorization: `Bearer ${environment.API_KEY}` },
  });
  const found = await response.json();
  if (!response.ok) fail(JSON.stringify(found, null, 2));
  return found.filter(({ endpoints }) => endpoints.some(({ dns_name }) => dns_name === name));
}

async function finding(name) {
  say(`$ curl -sS "$MONITORING${certificates}?monitored_domain=.$ZONE" -H "Authorization: Bearer $API_KEY"`);
  return await until('finding', async () => (await findings(name)).find(({ state }) => state !== 'waiting'));
}

function alertsOf(name) {
  return alerts.filter(({ body }) => body.endpoints?.some(({ dns_name }) => dns_name === name));
}

/** @param {'problem' | 'recovered'} kind */
function reportOf(kind, finding) {
  return alerts.find(
    ({ event, body }) =>
      event === `monitoring.endpoint_${kind}` &&
      body.dns_name === ours &&
      body.findings.some((each) => each.finding === finding),
  );
}

async function endpoint(name) {
  const response = await fetch(`${environment.MONITORING}/api/v3/monitoring/endpoints/${name}`, {
    headers: { authorization: `Bearer ${environment.API_KEY}` },
  });
  const found = await response.json();
  if (!response.ok) fail(JSON.stringify(found, null, 2));
  return found;
}

/** A TLS server on this machine, where the prober of the sandbox may connect. */
async function startServer() {
  const tls = createTlsServer({ key: read('their.key'), cert: read('their-1.pem') });
  // Checks close the connection after the handshake.
  tls
    .on('tlsClientError', () => undefined)
    .on('secureConnection', (socket) => socket.on('error', () => undefined).end());
  tls.on('error', () => fail(`Port ${serverPort} of 127.0.0.1 is in use.`));
  tls.listen(serverPort, '127.0.0.1');
  await once(tls, 'listening');
  return tls;
}

/** Mails of the sandbox are in a local mailbox. */
function mailAbout(name, words) {
  return async () => {
    const mails = await (await fetch(`${started.mailbox}/api/email`)).json();
    const found = mails.find(({ text }) => text?.includes(name) && text.includes(words));
    return found && { to: found.to?.[0]?.address, subject: found.subject, text: found.text };
  };
}

/** An HTTP server on this machine; the sandbox permits webhooks to loopback. */
async function startReceiver() {
  const server = createServer((request, response) => {
    let text = '';
    request.on('data', (chunk) => (text += chunk));
    request.on('end', () => {
      alerts.push({ at: Date.now(), event: request.headers['webhook-event'], body: JSON.parse(text) });
      response.writeHead(204).end();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { url: `http://127.0.0.1:${server.address().port}/`, close: () => server.close() };
}
