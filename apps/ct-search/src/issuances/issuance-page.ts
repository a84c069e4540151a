import { type Html, html, inlineStyle, pagePolicy } from '@certwright/service';
import { issuanceExpansion, type IssuanceSchema } from '@certwright/issuance-json';

const style = inlineStyle(`
  :root { color-scheme: light dark; }
  body { font: 1rem/1.5 system-ui, sans-serif; max-width: 56rem; margin: 2rem auto; padding: 0 1rem; }
  dl { display: grid; grid-template-columns: max-content 1fr; gap: .25rem 1.5rem; }
  dt { font-weight: 600; }
  dd { margin: 0; overflow-wrap: anywhere; white-space: pre-line; }
  ul { margin: 0; padding: 0; list-style: none; max-height: 30rem; overflow: auto; }
  code { overflow-wrap: anywhere; }
`);

/** Max names on the page. */
const maxNames = 1_000;

export const contentSecurityPolicy = pagePolicy(style);

/** What the page shows. */
export const expansionOfPage = issuanceExpansion([
  'dns_names',
  'issuer.website',
  'issuer.operator',
  'pubkey',
  'revocation',
  'problem_reporting',
]);

/**
 * Bidi controls, characters without a width, and controls except the line feed: a name could look like another one
 * (UTS #55, section 4).
 */
const hidden =
  /[\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e0fff}]|(?!\n)\p{Cc}/gu;

/** Text of a certificate, in which everything can be seen. */
const visible = (text: string): string =>
  text.replace(hidden, (each) => `\\u{${each.codePointAt(0)?.toString(16)}}`);

/**
 * An issuance for people who follow a link of a notice. Names and issuers come from certificates: any text in any direction,
 * hence `bdi`, and never a link.
 *
 * @param pemUrl of its certificate
 */
export function issuancePage(issuance: IssuanceSchema, pemUrl: string): string {
  const { dns_names: names = [], issuer, pubkey, problem_reporting: reporting } = issuance;
  const title = visible(`Certificate for ${names[0] ?? 'no DNS name'}`);
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="robots" content="noindex" />
        <title>${title}</title>
        ${style.element}
      </head>
      <body>
        <h1><bdi>${title}</bdi></h1>
        <dl>
          ${row(
            'Names',
            names.length === 0
              ? 'none'
              : html`<ul>
                    ${names.slice(0, maxNames).map((name) => html`<li>${bdi(name)}</li>`)}
                  </ul>
                  ${names.length > maxNames ? `and ${names.length - maxNames} more` : ''}`,
          )}
          ${row('Issuer', issuer === undefined ? 'not known' : bdi(issuer.friendly_name))}
          ${row('Issuer name', issuer === undefined ? 'not known' : bdi(issuer.name))}
          ${row('Operator', issuer?.operator ? operatorOf(issuer.operator) : 'not known')}
          ${row('Valid from', issuance.not_before)} ${row('Valid until', issuance.not_after)}
          ${row('Revocation', revocationOf(issuance))}
          ${row('Public key', pubkey === undefined ? 'not known' : [pubkey.type, pubkey.curve, pubkey.bit_length].filter(Boolean).join(' '))}
          ${row('SHA-256 of the certificate', code(issuance.cert_sha256))}
          ${row('SHA-256 of the TBSCertificate', code(issuance.tbs_sha256))}
          ${row('SHA-256 of the public key', code(issuance.pubkey_sha256))}
          ${row('Download', html`<a href="${pemUrl}">PEM</a>`)}
        </dl>
        <h2>Report a problem</h2>
        <p>
          If you did not authorize this certificate, ask the issuer to revoke it.
          ${reporting ? 'The issuer describes how:' : 'It is not known how the issuer accepts reports.'}
        </p>
        ${reporting ? html`<p>${bdi(reporting)}</p>` : ''}
      </body>
    </html> `.markup;
}

function row(term: string, description: string | Html): Html {
  return html`<dt>${term}</dt>
    <dd>${description}</dd>`;
}

const bdi = (text: string) => html`<bdi>${visible(text)}</bdi>`;
const code = (text: string) => html`<code>${text}</code>`;

function operatorOf({ name, website }: { readonly name: string; readonly website: string | null }): Html {
  return html`<bdi>${name}</bdi>${website === null ? '' : html` (<bdi>${website}</bdi>)`}`;
}

function revocationOf({ revoked, revocation }: IssuanceSchema): string {
  const checked = revocation?.checked_at ? `, checked at ${revocation.checked_at}` : '';
  if (revoked === null) return 'not known';
  if (!revoked) return `not revoked${checked}`;
  return `revoked at ${revocation?.time ?? 'an unknown time'}, reason ${revocation?.reason ?? 0}${checked}`;
}
