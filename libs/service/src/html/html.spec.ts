import { createHash } from 'node:crypto';
import { Html, html, inlineStyle } from './html';

it('escapes every text that is put in, between tags and within attributes', () => {
  const hostile = `<script>alert("1")</script>'&`;
  expect(html`<p title="${hostile}">${hostile}</p>`.markup).toBe(
    `<p title="&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&#39;&amp;">&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&#39;&amp;</p>`,
  );
});

it('takes markup as it is, one or several', () => {
  const items = ['a', '<b>'].map((text) => html`<li>${text}</li>`);
  const { markup } = html`<ul>
      ${items}
    </ul>
    ${new Html('<hr>')}`;
  expect(markup.replace(/\s/g, '')).toBe('<ul><li>a</li><li>&lt;b&gt;</li></ul><hr>');
});

it('gives a style the digest of its exact content', () => {
  const { element, source } = inlineStyle('\n  p { color: red; }\n');
  const content =
    /<style>([^]*)<\/style>/.exec(
      html`<head>
        ${element}
      </head>`.markup,
    )?.[1] ?? '';
  expect(source).toBe(`'sha256-${createHash('sha256').update(content).digest('base64')}'`);
});
