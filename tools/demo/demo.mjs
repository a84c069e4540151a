// `npm run demo`: issues a certificate. `npm run demo -- monitoring`: reports a certificate that was not ordered here.
// `npm run demo -- managed`: an agent installs certificates in nginx.
const demos = {
  certificate: './certificate.mjs',
  monitoring: './monitoring.mjs',
  managed: './managed.mjs',
};

const [name = 'certificate'] = process.argv.slice(2);
if (Object.hasOwn(demos, name)) await import(demos[name]);
else {
  process.stderr.write(`There is no demo "${name}". Demos: ${Object.keys(demos).join(', ')}.\n`);
  process.exitCode = 2;
}
