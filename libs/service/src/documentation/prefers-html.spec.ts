import { prefersHtml } from './prefers-html';

it.each<[string | undefined, boolean]>([
  [undefined, false],
  ['', false],
  ['*/*', false],
  ['application/json', false],
  ['text/html', true],
  ['TEXT/HTML', true],
  ['text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8', true],
  ['text/html, application/json', false],
  ['text/html;q=0.5, application/json;q=0.4', true],
  ['text/html;q=0.4, application/json;q=0.5', false],
  ['text/html;q=0', false],
  ['text/html;q=x', false],
  ['text/*', true],
  ['text/*;q=0.1, */*;q=0.5', false],
  ['application/*, text/html;q=0.9', false],
  [',;,q=1;', false],
])('Accept: %s prefers a page: %s', (accept, preferred) => {
  expect(prefersHtml(accept)).toBe(preferred);
});
