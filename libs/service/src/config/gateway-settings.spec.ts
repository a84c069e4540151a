import { gatewayConnection, gatewaySettings } from './gateway-settings';
import { defineSettings } from './settings';

const { read } = defineSettings(gatewaySettings({ without: 'nothing is integrated' }));
const whole = {
  GATEWAY_URL: 'https://gateway.test',
  GATEWAY_CA: 'a',
  GATEWAY_CERTIFICATE: 'b',
  GATEWAY_KEY: 'c',
};

describe('the connection to the DNS gateway', () => {
  it('is none unless its URL is set', () => {
    expect(gatewayConnection(read({}))).toBeNull();
    expect(gatewayConnection(read({ ...whole, GATEWAY_URL: '' }))).toBeNull();
  });

  it('that is configured incompletely is refused, and the message says what is missing', () => {
    const half = read({ ...whole, GATEWAY_CA: '', GATEWAY_KEY: '' });
    expect(() => gatewayConnection(half)).toThrow(
      /\n {2}GATEWAY_CA \(or GATEWAY_CA_FILE\) is missing, and GATEWAY_URL is set\n {2}GATEWAY_KEY \(or GATEWAY_KEY_FILE\) is/,
    );
  });

  it('that is configured completely is returned', () => {
    expect(gatewayConnection(read(whole))).toEqual({
      url: 'https://gateway.test',
      ca: 'a',
      certificate: 'b',
      key: 'c',
    });
  });

  it.each(['http://gateway.test', 'gateway.test'])('is never to %s', (url) => {
    expect(() => read({ ...whole, GATEWAY_URL: url })).toThrow(/GATEWAY_URL is not a URL/);
  });
});
