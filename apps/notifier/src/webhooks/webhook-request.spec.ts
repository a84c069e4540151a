import { randomBytes } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { webhookHeaders } from './webhook-request';

const freshSecret = () => `whsec_${randomBytes(32).toString('base64')}`;
const message = {
  id: 'msg_1',
  event: 'order.current_cert_changed',
  body: '{"name":"日本語 \\u202e 😀"}',
  timestampS: Math.floor(Date.now() / 1_000),
  credentials: null,
};

describe('the headers of a webhook', () => {
  it('are verified by the official library of Standard Webhooks, with either secret during a rotation', () => {
    const [present, previous] = [freshSecret(), freshSecret()];
    const headers = webhookHeaders({ ...message, secrets: [present, previous] });
    for (const secret of [present, previous]) {
      expect(new Webhook(secret).verify(message.body, { ...headers })).toEqual(JSON.parse(message.body));
    }
    expect(() => new Webhook(freshSecret()).verify(message.body, { ...headers })).toThrow('No matching');
    expect(() => new Webhook(present).verify(`${message.body} `, { ...headers })).toThrow('No matching');
  });

  it('identify the message for receivers without that library', () => {
    expect(webhookHeaders({ ...message, secrets: [freshSecret()] })).toMatchObject({
      'content-type': 'application/json',
      'idempotency-key': 'msg_1',
      'webhook-id': 'msg_1',
      'webhook-event': 'order.current_cert_changed',
    });
  });

  it('carry credentials as Basic authentication in UTF-8, if there are any', () => {
    const { authorization } = webhookHeaders({ ...message, secrets: [freshSecret()], credentials: 'ü:p:w' });
    expect(Buffer.from(String(authorization?.replace('Basic ', '')), 'base64').toString()).toBe('ü:p:w');
    expect(webhookHeaders({ ...message, secrets: [freshSecret()] })).not.toHaveProperty('authorization');
  });
});
