import { endpointJson, type EndpointRow } from '@certwright/monitored-endpoints';
import { endpointsOfOrders } from './order-endpoints';

const endpoint = (dns_name: string, ports = [443]): EndpointRow => ({
  ...{ dns_name, muted: false, ports, state: 'ok', state_since: new Date(0), looked_at: null },
  ...{ findings: [], served: [] },
});
const order = (planId: string, ...dnsNames: readonly string[]) => ({ planId, dnsNames });
const namesOf = (...parameters: Parameters<typeof endpointsOfOrders>) =>
  [...endpointsOfOrders(...parameters)].map(([planId, shown]) => [
    planId,
    shown?.map(({ dns_name }) => dns_name) ?? null,
  ]);

it('are those of exactly the names of each order', () => {
  const orders = [
    order('1', 'www.example.com', '*.example.com', 'example.com'),
    order('2', 'www.example.com'),
    order('3', 'shop.example.com'),
  ];
  const endpoints = ['example.com', 'other.example.com', 'www.example.com'].map((name) => endpoint(name));
  const read = { endpoints, hasMore: false };
  expect(namesOf(orders, read)).toEqual([
    ['1', ['www.example.com', 'example.com']],
    ['2', ['www.example.com']],
    ['3', []],
  ]);
  const [, , www] = endpoints;
  expect(endpointsOfOrders(orders, read).get('2')).toEqual([www && endpointJson(www)]);
});

it('are null for the orders whose endpoints were not read', () => {
  const orders = [order('1', 'a.example'), order('2', 'a.example', 'c.example'), order('3', 'c.example')];
  expect(
    namesOf(orders, { endpoints: [endpoint('a.example'), endpoint('b.example')], hasMore: true }),
  ).toEqual([
    ['1', ['a.example']],
    ['2', null],
    ['3', null],
  ]);
});

it('are null for the orders after those that fill the response, and never for the first one', () => {
  const large = endpoint(
    'a.example',
    Array.from({ length: 400_000 }, () => 443),
  );
  const orders = Array.from({ length: 6 }, (_, at) => order(String(at), 'a.example'));
  expect(namesOf(orders, { endpoints: [large], hasMore: false })).toEqual([
    ...['0', '1', '2'].map((planId) => [planId, ['a.example']]),
    ...['3', '4', '5'].map((planId) => [planId, null]),
  ]);
});
