import { orderFolder } from './order-folder';

it.each([
  ['www.example.com', 'www.example.com'],
  ['*.example.com', '%2A.example.com'],
  ['a-b_c.d', 'a-b_c.d'],
  ['Shop', '%53hop'],
  ['../../etc/cron.d/x', '%2E.%2F..%2Fetc%2Fcron.d%2Fx'],
  ['/etc/passwd', '%2Fetc%2Fpasswd'],
  ['.', '%2E'],
  ['..', '%2E.'],
  ['.hidden', '%2Ehidden'],
  ['a b', 'a%20b'],
  ['a\nb', 'a%0Ab'],
  ['$(reboot)', '%24%28reboot%29'],
  ['%2E', '%252%45'],
  ['müller', 'm%C3%BCller'],
  ['-rf', '-rf'],
])('the folder of %j is %s', (name, folder) => {
  expect(orderFolder(name)).toBe(folder);
});

it('is a hash beyond 200 bytes', () => {
  expect(orderFolder('a'.repeat(200))).toBe('a'.repeat(200));
  // printf %s aaa… | sha256sum
  expect(orderFolder('a'.repeat(201))).toMatch(/^%sha256-[0-9a-f]{64}$/);
  expect(orderFolder('/'.repeat(67))).toMatch(/^%sha256-[0-9a-f]{64}$/);
  expect(orderFolder('/'.repeat(66))).toBe('%2F'.repeat(66));
});

it('differs for different names, also for a name that looks like a folder', () => {
  const long = 'b'.repeat(255);
  const names = ['a', 'A', '%41', 'a/b', 'a%2Fb', long, orderFolder(long), orderFolder(orderFolder(long))];
  expect(new Set(names.map(orderFolder)).size).toBe(names.length);
});

it.each(['', '\ud800'])('refuses %j', (name) => {
  expect(() => orderFolder(name)).toThrow(expect.objectContaining({ code: 'malformed' }));
});
