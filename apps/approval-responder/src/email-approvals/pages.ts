import type { ApprovalRequest } from '@certwright/core-schema';
import { type Html, html, inlineStyle, pagePolicy } from '@certwright/service';

const style = inlineStyle(`
  body { font: 1rem/1.5 system-ui, sans-serif; max-width: 40rem; margin: 3rem auto; padding: 0 1rem; color: #1b1f24; }
  dt { font-weight: 600; } dd { margin: 0 0 .75rem; overflow-wrap: anywhere; }
  button { font: inherit; padding: .6rem 1.4rem; border: 0; border-radius: .3rem; background: #14532d; color: #fff; }`);

/** Of every page. */
export const contentSecurityPolicy = pagePolicy(style, 'self');

function page(title: string, body: Html): string {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${title}</title>
        ${style.element}
      </head>
      <body>
        <h1>${title}</h1>
        ${body}
      </body>
    </html> `.markup;
}

/** Form field that shows that the button was pressed. A POST without it approves nothing. */
export const decision = { name: 'decision', value: 'approve' } as const;

/** Shows the approval request, and changes nothing. The form posts to the page's own address. */
export function requestPage(request: ApprovalRequest): string {
  return page(
    'Approve a certificate?',
    html`<p>
        Somebody wants a TLS certificate for a domain name and has named this mailbox as the one that may
        approve it. Approve only if you are in charge of the name and know the order.
      </p>
      ${details(request)}
      <form method="post">
        <input type="hidden" name="${decision.name}" value="${decision.value}" />
        <button type="submit">Approve</button>
      </form>
      <p>
        If you do not know what this is about, close this page: without your approval nothing is issued.
      </p>`,
  );
}

export function approvedPage(request: ApprovalRequest): string {
  return page(
    'Approved',
    html`<p>Thank you. The certificate is on its way; there is nothing more to do here.</p>
      ${details(request)}`,
  );
}

/** One page for links that are used, expired, no longer needed, or unknown: the holder's next step is the same. */
export const closedPage = page(
  'This link is not in use',
  html`<p>
      If you pressed the button on it before, your approval is recorded and there is nothing more to do.
    </p>
    <p>
      Otherwise the link has expired, the order has changed, or the address is incomplete. The person who
      placed the order can request a new mail by posting the order again.
    </p>`,
);

/** Another web site sent the form. */
export const foreignPage = page(
  'Please open the link from the mail',
  html`<p>
    The approval did not come from our own page, so it was not taken. Open the link in the mail and press the
    button there.
  </p>`,
);

/** Names are customers' text in any script and direction: hence `bdi`. */
function details({ dnsName, orderName, accountName, product, address, spkiSha256 }: ApprovalRequest): Html {
  const key = spkiSha256 === null ? 'not known yet' : Buffer.from(spkiSha256).toString('hex');
  return html`<dl>
    <dt>Domain name</dt>
    <dd>${dnsName}</dd>
    <dt>Order</dt>
    <dd><bdi>${orderName}</bdi></dd>
    <dt>Account</dt>
    <dd><bdi>${accountName}</bdi></dd>
    <dt>Product</dt>
    <dd>${product}</dd>
    <dt>Mailbox</dt>
    <dd>${address}</dd>
    <dt>Public key (SHA-256)</dt>
    <dd>${key}</dd>
  </dl>`;
}
