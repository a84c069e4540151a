// Issues a certificate through the public HTTP API and a real DNS server, with openssl, curl and dig.
import { randomBytes } from 'node:crypto';
import path from 'node:path';
import {
  download,
  environment,
  explain,
  fail,
  has,
  need,
  orderCertificate,
  publish,
  shell,
  splitAddress,
  started,
  step,
  useFolder,
  write,
} from './steps.mjs';

const name = `shop-${randomBytes(2).toString('hex')}.${started.demo_zone}`;
const folder = useFolder(name);
environment.NAME = name;

need('openssl');
explain(`API is ${environment.API}; API_KEY is the key of your sandbox account.`);

step('Create a key and a certificate signing request');
shell('openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out key.pem');
shell(
  'openssl req -new -key key.pem -subj / -addext "subjectAltName=DNS:$NAME" -outform DER -out request.der',
);

step('Order a certificate');
const { order, record } = orderCertificate(name);

step('Publish the record in DNS');
explain('(The sandbox has a DNS server for the demo zone, which accepts HTTP requests and nsupdate.)');
publish(record);
const [dnsHost, dnsPort] = splitAddress(started.resolver);
if (has('dig')) shell(`dig +short -p ${dnsPort} @${dnsHost} ${record.name} ${record.type}`, { echo: true });
else
  explain('(dig is not installed, so the record is not shown. Install it: apt-get install bind9-dnsutils)');

step('Download the certificate from the public URL of the order');
const chain = await download(order.current_cert_download);
write('chain.pem', chain);
const [leaf, ...others] =
  chain.match(/-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----\n/g) ?? [];
write('leaf.pem', leaf ?? '');
write('intermediates.pem', others.join(''));

step('Verify chain, name and key');
shell('openssl verify -CAfile "$ROOT" -untrusted chain.pem -verify_hostname "$NAME" chain.pem', {
  echo: true,
});
const keys = ['openssl pkey -in key.pem -pubout', 'openssl x509 -in chain.pem -noout -pubkey'].map((line) =>
  shell(line),
);
if (keys[0] !== keys[1]) fail('The key of the certificate is not the key of the request.');
explain('The key of the certificate is the key of the request.');

step('The certificate');
shell('openssl x509 -in chain.pem -noout -text', { echo: true });
explain(`All files are in ${path.relative(process.cwd(), folder)}.`);
