import { LossyDisk } from '../testing/lossy-disk';
import { faultText } from './table-reader';
import { readSettings } from './settings';
import { isAccepted, isWithin, readNamePattern, readWindow } from './values';

const file = '/etc/certwright-agent/agent.toml';
const top = `server = "https://certs.example.net"
names = ["example.com", "*.example.com"]
`;

function disk(text: string, more: Readonly<Record<string, string>> = {}): LossyDisk {
  const made = new LossyDisk(['/etc/certwright-agent/conf.d']);
  made.put(file, text);
  for (const [name, content] of Object.entries(more))
    made.put(`/etc/certwright-agent/conf.d/${name}`, content);
  return made;
}

const read = (text: string, more?: Readonly<Record<string, string>>) =>
  readSettings(disk(text, more), file, { uid: 0 });
const faults = (text: string, more?: Readonly<Record<string, string>>) => {
  const reading = read(text, more);
  return reading.ok ? [] : reading.faults.map(faultText);
};

it('reads everything', () => {
  const reading = read(
    `${top}ca_file = "/etc/ssl/private-ca.pem"
proxy = "http://proxy:3128"
state = "/srv/agent"
[keys]
rsa = 3072
ecdsa = "P-384"
[service.nginx]
test = ["nginx", "-t"]
reload = ["systemctl", "reload", "nginx"]
timeout = "2m"
window = "22:00-05:00"
probe = [{ address = "127.0.0.1:443", server_name = "www.example.com" }]
[[service.nginx-2.probe]]
address = "[::1]:25"
server_name = "mail.example.com"
starttls = "smtp"
[[install]]
order = "www.example.com"
service = "nginx"
`,
    {
      'b.toml': `[[install]]
order = "www.example.com"
service = "nginx-2"
format = "pkcs12"
path = "/etc/java/www.p12"
group = "tomcat"
mode = "0640"
password_file = "/etc/java/password"
`,
      'ignored.txt': 'not read',
    },
  );
  expect(reading.ok && reading.settings).toMatchObject({
    caFile: '/etc/ssl/private-ca.pem',
    state: '/srv/agent',
    keys: { rsaBits: 3072, curve: 'P-384', csrCommand: null },
    points: [
      { id: 'folder:nginx', format: 'folder', path: null },
      {
        id: '/etc/java/www.p12',
        format: 'pkcs12',
        group: 'tomcat',
        mode: 0o640,
        passwordFile: '/etc/java/password',
      },
    ],
  });
  expect(reading.ok && [...reading.settings.services.values()]).toMatchObject([
    { name: 'nginx', timeoutMs: 120_000, window: { startMinute: 1320, endMinute: 300 } },
    {
      name: 'nginx-2',
      test: null,
      probes: [{ address: '[::1]:25', serverName: 'mail.example.com', starttls: 'smtp' }],
    },
  ]);
});

it.each([
  [
    'a key that is not known',
    `${top}serverr = "x"\n`,
    [
      `${file}:3: serverr: is not known here; remove it, or use one of: ca_file, install, keys, names, proxy, server, service, state`,
    ],
  ],
  [
    'a nested key that is not known',
    `${top}[service.a]\nreloads = ["x"]\n`,
    [
      `${file}:4: service.a.reloads: is not known here; remove it, or use one of: probe, reload, test, timeout, window`,
    ],
  ],
  [
    'a key of an array of tables',
    `${top}[[install]]\norder = "a"\n\n[[install]]\norder = "b"\npaht = "/x"\n`,
    [
      `${file}:8: install[2].paht: is not known here; remove it, or use one of: format, group, mode, order, owner, password_file, path, service`,
    ],
  ],
  [
    'an address of a proxy that does not begin with http://, without its password',
    `${top}proxy = "https://agent:secret@proxy.example.net:3128"\n`,
    [
      `${file}:3: proxy: "…@proxy.example.net:3128" is not an address of a proxy; write it as "http://proxy.example.net:3128"`,
    ],
  ],
  [
    'a password of a proxy that is not percent-encoded',
    `${top}proxy = "http://agent:100%@proxy.example.net:3128"\n`,
    [
      `${file}:3: proxy: "…@proxy.example.net:3128" has a user or password with "%"; write this character as "%25"`,
    ],
  ],
  [
    'an address of the server with a password, without it',
    `server = "https://agent:secret@certs.example.net"\nnames = ["example.com"]\n`,
    [
      `${file}:1: server: "…@certs.example.net" has more than a host and a port; write only those, such as "https://certs.example.net"`,
    ],
  ],
  [
    'a mode that is a number',
    `${top}[[install]]\norder = "a"\nformat = "combined"\npath = "/etc/a.pem"\nmode = 0o640\n`,
    [`${file}:7: install[1].mode: is not a string; write it in quotes`],
  ],
  [
    'a mode that others may read',
    `${top}[[install]]\norder = "a"\nformat = "combined"\npath = "/etc/a.pem"\nmode = "0644"\n`,
    [
      `${file}:7: install[1].mode: 0644 lets others than the owner write, or users outside the group read a private key; use "0600", "0640" or "0400"`,
    ],
  ],
  [
    'a mode without a leading zero',
    `${top}[[install]]\norder = "a"\nformat = "combined"\npath = "/etc/a.pem"\nmode = "640"\n`,
    [`${file}:7: install[1].mode: "640" is not a mode; write four octal digits in quotes, such as "0640"`],
  ],
  [
    'a command that is a string',
    `${top}[service.a]\nreload = "systemctl reload a"\n`,
    [`${file}:4: service.a.reload: is not a list of strings; write it as ["…", "…"]`],
  ],
  [
    'a path with ..',
    `${top}[[install]]\norder = "a"\nformat = "combined"\npath = "/etc/../a.pem"\n`,
    [
      `${file}:6: install[1].path: "/etc/../a.pem" is not an absolute path without "..", "//" and a final "/"; write the full path of the file`,
    ],
  ],
  [
    'a path within the state',
    `${top}[[install]]\norder = "a"\nformat = "combined"\npath = "/var/lib/certwright-agent/a.pem"\n`,
    [`${file}:3: install[1].path: is in the state folder of the agent; use another folder`],
  ],
  [
    'a path of the format folder',
    `${top}[[install]]\norder = "a"\npath = "/etc/a.pem"\n`,
    [
      `${file}:5: install[1].path: does not apply to format "folder", whose files are in the state folder; remove it, or use format "combined"`,
    ],
  ],
  [
    'the same path twice',
    `${top}[[install]]\norder = "a"\nformat = "combined"\npath = "/etc/a.pem"\n[[install]]\norder = "b"\nformat = "combined"\npath = "/etc/a.pem"\n`,
    [
      `${file}:7: install[2]: installs to the same place as another entry; remove one of them; the other one is in ${file}:3`,
    ],
  ],
  [
    'a service that is missing',
    `${top}[[install]]\norder = "a"\nservice = "nginx"\n`,
    [`${file}:3: install[1].service: there is no service "nginx"; add [service.nginx]`],
  ],
  [
    'missing settings',
    '',
    [
      `${file}:1: server: is missing; add server = "https://…", the address of Certwright`,
      `${file}:1: names: is missing; add the DNS names that this host may serve, such as names = ["www.example.com"]`,
    ],
  ],
  [
    'a plain server',
    top.replace('https', 'http'),
    [
      `${file}:1: server: "http://certs.example.net" is not an https:// address; write it as "https://certs.example.net"`,
    ],
  ],
  [
    'a server with a path',
    top.replace('.net', '.net/api'),
    [
      `${file}:1: server: "https://certs.example.net/api" has more than a host and a port; write only those, such as "https://certs.example.net"`,
    ],
  ],
  [
    'a wrong duration',
    `${top}[service.a]\ntimeout = "90"\n`,
    [`${file}:4: service.a.timeout: "90" is not a duration from 1s to 60m; write it as "30s" or "5m"`],
  ],
  [
    'a wrong key size',
    `${top}[keys]\nrsa = 1024\n`,
    [`${file}:4: keys.rsa: is not one of 2048, 3072, 4096; write one of them, without quotes`],
  ],
  [
    'a name that is none',
    'server = "https://a.example"\nnames = ["https://example.com"]\n',
    [
      `${file}:2: names[1]: "https://example.com" is not a DNS name; write "www.example.com", or "*.example.com" for every name below example.com, in ASCII (xn--…)`,
    ],
  ],
  [
    'a probe without an address',
    `${top}[service.a]\nprobe = [{ server_name = "a.example.com" }]\n`,
    [`${file}:4: service.a.probe[1].address: is missing; add it`],
  ],
  [
    'csr_command with a file that has the key',
    `${top}[keys]\ncsr_command = ["/bin/hsm"]\n[[install]]\norder = "a"\nformat = "combined"\npath = "/etc/a.pem"\n`,
    [
      `${file}:5: install[1].format: "combined" contains the private key, which csr_command does not return; use "folder"`,
    ],
  ],
])('refuses %s', (_what, text, expected) => {
  expect(faults(text)).toEqual(expected);
});

it('names the line of a syntax error', () => {
  expect(faults(`${top}state = "/srv\n`)[0]).toMatch(
    /^\/etc\/certwright-agent\/agent\.toml:3: is not TOML: /,
  );
});

it('refuses a setting in two files, and names both', () => {
  expect(faults(top, { 'a.toml': 'server = "https://b.example"\n' })).toEqual([
    `/etc/certwright-agent/conf.d/a.toml:1: server: is set twice; remove one of them; the other one is in ${file}:1`,
  ]);
  expect(faults(`${top}[service.a]\n`, { 'a.toml': '[service.a]\n' })).toEqual([
    `/etc/certwright-agent/conf.d/a.toml:1: service.a: is defined twice; remove one of them; the other one is in ${file}:3`,
  ]);
});

it('reports all errors at once', () => {
  expect(faults('a = 1\nb = 2\n')).toHaveLength(4);
});

it.each([
  [
    'may be written by others',
    (made: LossyDisk) => made.put(file, top, { mode: 0o666 }),
    `${file}:0: other users may write to it (mode 0666); run chmod go-w ${file}`,
  ],
  [
    'belongs to another user',
    (made: LossyDisk) => made.put(file, top, { uid: 1000 }),
    `${file}:0: belongs to user 1000; change its owner to root`,
  ],
  [
    'is in a folder that others may write',
    (made: LossyDisk) => made.makeFolders('/etc/certwright-agent', { mode: 0o777 }),
    `${file}:0: other users may write to the folder /etc/certwright-agent (mode 0777); run chmod go-w /etc/certwright-agent`,
  ],
  [
    'is a link',
    (made: LossyDisk) => made.putLink(file, '/tmp/agent.toml'),
    `${file}:0: is a symbolic link, which the agent does not follow; use the real path`,
  ],
] as const)('refuses a file that %s', (_what, arrange, expected) => {
  const made = disk(top);
  arrange(made);
  const reading = readSettings(made, file, { uid: 0 });
  expect(reading.ok ? [] : reading.faults.map(faultText)).toEqual([expected]);
});

it.each([
  ['example.com', 'example.com', true],
  ['example.com', 'www.example.com', false],
  ['*.example.com', 'www.example.com', true],
  ['*.example.com', 'a.b.example.com', true],
  ['*.example.com', '*.example.com', true],
  ['*.example.com', 'example.com', false],
  ['*.example.com', 'notexample.com', false],
  ['example.com', '*.example.com', false],
])('%s accepts %s: %s', (pattern, name, expected) => {
  expect(isAccepted([readNamePattern(pattern)], name)).toBe(expected);
});

it.each([
  ['02:00-05:00', 2, 0, true],
  ['02:00-05:00', 4, 59, true],
  ['02:00-05:00', 5, 0, false],
  ['22:00-04:00', 23, 0, true],
  ['22:00-04:00', 3, 59, true],
  ['22:00-04:00', 12, 0, false],
])('the window %s contains %s:%s: %s', (window, hour, minute, expected) => {
  const time = new Date('2026-11-24T00:00:00');
  time.setHours(hour, minute);
  expect(isWithin(readWindow(window), time)).toBe(expected);
});
