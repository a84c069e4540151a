import { type AddressInfo, connect, createServer } from 'node:net';
import { failureText } from './failure-text';

/** A port of loopback that refuses connections. */
async function closedPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

describe('the text of a failure', () => {
  it('has every address of a database that refuses connections', async () => {
    const port = await closedPort();
    const addresses = ['127.0.0.1', '127.0.0.2'];
    const error = await new Promise((resolve) =>
      connect({
        ...{ host: 'db.example', port, autoSelectFamily: true },
        lookup: (_host, _options, done) =>
          done(
            null,
            addresses.map((address) => ({ address, family: 4 })),
          ),
      }).on('error', resolve),
    );
    expect(error).toMatchObject({ message: '' });
    expect(failureText(error)).toBe(
      addresses.map((address) => `connect ECONNREFUSED ${address}:${port}`).join('; '),
    );
  });

  it('is the message of any other error', () => {
    expect(failureText(new Error('There is no account 7.'))).toBe('There is no account 7.');
  });
});
