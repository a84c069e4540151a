import type { ApiReply } from '../../testing/api-server';

export const escaped = (text: string): string =>
  text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;');

export const xml = (root: string, inner: string): ApiReply => ({
  status: 200,
  headers: { 'content-type': 'text/xml' },
  body: `<?xml version="1.0" encoding="UTF-8"?>\n<${root} xmlns="https://route53.amazonaws.com/doc/2013-04-01/">${inner}</${root}>`,
});

export const invalid = (message: string): ApiReply => failure(400, 'InvalidChangeBatch', `[${message}]`);

export const failure = (status: number, code: string, message: string): ApiReply => ({
  status,
  headers: { 'content-type': 'text/xml' },
  body:
    '<?xml version="1.0"?>\n<ErrorResponse xmlns="https://route53.amazonaws.com/doc/2013-04-01/">' +
    `<Error><Type>Sender</Type><Code>${code}</Code><Message>${escaped(message)}</Message></Error>` +
    '<RequestId>b25f48e8-84fd-11e6-80d9-574e0c4664cb</RequestId></ErrorResponse>',
});
