import type { Zone } from '@certwright/gateway-contract';
import type { DnsRecord, ProviderSession } from '../dns-provider';
import { ZoneLocks } from '../records/zone-locks';
import { type Inability, openSession, type ProviderSpec, type ProviderWorld } from './provider-world';

/** The contract of `ProviderSession` as a suite that every provider's spec runs. */
export function describeProvider({ name, setUp, cannot = {} }: ProviderSpec): void {
  describe(`${name} as a DNS provider`, () => {
    let world: ProviderWorld;
    let session: ProviderSession;
    let zone: Zone;

    beforeEach(async () => {
      world = await setUp();
      session = await openSession(world);
      zone = await zoneNamed(session, world.zone);
    });
    afterEach(() => world.close?.());

    const rule = (needs: Inability | null, title: string, hold: () => Promise<void>): void => {
      const reason = needs === null ? undefined : cannot[needs];
      if (reason === undefined) it(title, hold);
      else it.skip(`${title}: ${reason}`, hold);
    };
    const challenge = (label = '_acme-challenge'): string => `${label}.${world.zone}`;
    const txt = (value: string, fqdn = challenge()): DnsRecord => ({ fqdn, type: 'TXT', value, ttlS: null });
    const valuesAt = async (fqdn = challenge(), type = 'TXT'): Promise<readonly string[]> =>
      (await world.list(fqdn))
        .filter((record) => record.type === type)
        .map(({ value }) => value)
        .sort();

    rule('pages', 'zones come from every page', async () => {
      const found = (await session.zones()).map((each) => each.name);
      expect([...found].sort()).toEqual([...world.zoneNames].sort());
    });

    it.each(txtTexts.filter(([, , needs]) => needs === null || cannot[needs] === undefined))(
      'a TXT value of %s is added, found again, and removed',
      async (_, value) => {
        await session.add(zone, txt(value));
        await session.add(zone, txt(value));
        expect(await valuesAt()).toEqual([value]);
        await session.remove(zone, txt(value));
        expect(await valuesAt()).toEqual([]);
      },
    );

    rule(
      'foreign_records',
      'an addition tells a record that it created from one that was there',
      async () => {
        await world.plant({ fqdn: challenge(), type: 'TXT', value: 'planted' });
        expect(await session.add(zone, txt('planted'))).toBe('existed');
        expect(await session.add(zone, txt('ours'))).toBe('created');
        expect(await session.add(zone, txt('ours'))).toBe('existed');
      },
    );

    rule('replace', 'a replacement tells a record that it created from one that was there', async () => {
      await world.plant({ fqdn: challenge(), type: 'TXT', value: 'old' });
      await world.plant({ fqdn: challenge(), type: 'TXT', value: 'kept' });
      expect(await session.replace(zone, txt('kept'))).toBe('existed');
      expect(await valuesAt()).toEqual(['kept']);
      expect(await session.replace(zone, txt('new'))).toBe('created');
    });

    rule('two_values', 'two values stand at one name, and each is removed alone', async () => {
      await session.add(zone, txt('first'));
      await session.add(zone, txt('second'));
      expect(await valuesAt()).toEqual(['first', 'second']);
      await session.remove(zone, txt('first'));
      expect(await valuesAt()).toEqual(['second']);
    });

    rule('foreign_records', 'records of others stay as they are', async () => {
      const elsewhere = `other.${challenge()}`;
      await world.plant({ fqdn: challenge(), type: 'TXT', value: 'somebody "else"' });
      await world.plant({ fqdn: elsewhere, type: 'TXT', value: 'ours' });
      await session.add(zone, txt('ours'));
      await session.remove(zone, txt('ours'));
      expect(await valuesAt()).toEqual(['somebody "else"']);
      expect(await valuesAt(elsewhere)).toEqual(['ours']);
    });

    rule(null, 'removal of what is gone is a success', async () => {
      await session.remove(zone, txt('never was'));
      await session.add(zone, txt('was'));
      await session.remove(zone, txt('was'));
      await session.remove(zone, txt('was'));
      expect(await valuesAt()).toEqual([]);
    });

    rule('replace', 'replacing by a CNAME clears the name, and no other', async () => {
      const beneath = `www.${challenge()}`;
      await world.plant({ fqdn: challenge(), type: 'TXT', value: 'old' });
      await world.plant({ fqdn: beneath, type: 'TXT', value: 'stays' });
      const record: DnsRecord = {
        fqdn: challenge(),
        type: 'CNAME',
        value: 'token.approval.example',
        ttlS: 300,
      };
      await session.replace(zone, record);
      await session.replace(zone, record);
      expect((await world.list(challenge())).map(({ type, value }) => [type, value])).toEqual([
        ['CNAME', 'token.approval.example'],
      ]);
      expect(await valuesAt(beneath)).toEqual(['stays']);
      await session.remove(zone, record);
      expect(await world.list(challenge())).toEqual([]);
    });

    rule('replace', 'replacing by a TXT leaves that value alone', async () => {
      await session.add(zone, txt('one'));
      await session.add(zone, txt('two'));
      await session.replace(zone, txt('two'));
      expect(await valuesAt()).toEqual(['two']);
      await session.replace(zone, txt('three'));
      expect(await valuesAt()).toEqual(['three']);
    });

    rule('ns', 'a delegation is made and taken back', async () => {
      const record: DnsRecord = { fqdn: challenge(), type: 'NS', value: 'ns1.approval.example', ttlS: 300 };
      await session.replace(zone, record);
      expect(await valuesAt(challenge(), 'NS')).toEqual(['ns1.approval.example']);
      await session.remove(zone, record);
      expect(await valuesAt(challenge(), 'NS')).toEqual([]);
    });

    rule('caa', 'a CAA record is added to others', async () => {
      const fqdn = `shop.${world.zone}`;
      const caa = (value: string): DnsRecord => ({ fqdn, type: 'CAA', value, ttlS: 3_600 });
      await world.plant({ fqdn, type: 'CAA', value: '0 issue "other.example"' });
      const value = '128 issue "ca.example; accounturi=https://ca.example/a/1"';
      await session.add(zone, caa(value));
      await session.add(zone, caa(value));
      expect(await valuesAt(fqdn, 'CAA')).toEqual(['0 issue "other.example"', value]);
      await session.remove(zone, caa(value));
      expect(await valuesAt(fqdn, 'CAA')).toEqual(['0 issue "other.example"']);
    });

    it('a record beside a CNAME is a conflict, and changes nothing', async () => {
      await world.plant({ fqdn: challenge(), type: 'CNAME', value: 'elsewhere.example' });
      await expect(session.add(zone, txt('hidden'))).rejects.toMatchObject({ kind: 'conflict' });
      expect((await world.list(challenge())).map(({ type }) => type)).toEqual(['CNAME']);
    });

    const gone = (): Zone => ({ id: world.goneZoneId ?? 'gone.example', name: 'gone.example' });
    const inGone = txt('text', '_acme-challenge.gone.example');

    rule('gone_zone', 'an addition to a zone that was deleted is zone_not_found', async () => {
      await expect(session.add(gone(), inGone)).rejects.toMatchObject({ kind: 'zone_not_found' });
    });

    rule('gone_zone_removal', 'a removal from a zone that was deleted is zone_not_found', async () => {
      await expect(session.remove(gone(), inGone)).rejects.toMatchObject({ kind: 'zone_not_found' });
    });

    rule('many_at_once', 'twenty changes of one name at once leave exactly what was requested', async () => {
      const values = Array.from({ length: 20 }, (_, at) => `value-${String(at).padStart(2, '0')}`);
      const locks = new ZoneLocks();
      const sessions = await Promise.all(values.map(() => openSession(world, world.credentials, locks)));
      const each = (change: (s: ProviderSession, value: string) => Promise<unknown>): Promise<unknown> =>
        Promise.all(values.map((value, at) => change(sessions[at] as ProviderSession, value)));
      await each((one, value) => one.add(zone, txt(value)));
      expect(await valuesAt()).toEqual(values);
      await each(async (one, value) => {
        if (value.endsWith('7')) await one.add(zone, txt(value));
        else await one.remove(zone, txt(value));
      });
      expect(await valuesAt()).toEqual(['value-07', 'value-17']);
      expect(locks.size).toBe(0);
    });

    rule('sub_zones', 'a record goes into the zone that is named, not into the one above it', async () => {
      const below = await zoneNamed(session, String(world.subZone));
      const fqdn = `_acme-challenge.${below.name}`;
      await session.add(below, txt('deep', fqdn));
      expect(await valuesAt(fqdn)).toEqual(['deep']);
      await session.remove(below, txt('deep', fqdn));
      expect(await valuesAt(fqdn)).toEqual([]);
    });

    rule('wrong_credentials', 'credentials that the provider refuses are auth_failed', async () => {
      const attempt = (async () => (await openSession(world, world.wrongCredentials)).zones())();
      await expect(attempt).rejects.toMatchObject({ name: 'ProviderFault', kind: 'auth_failed' });
    });

    rule(
      'lost_response',
      'a change whose response was lost is one record, and can be taken back',
      async () => {
        const lose = (): void => {
          if (world.loseNextResponse !== undefined) world.loseNextResponse();
          else world.server?.misbehave('applied_then_cut', 1, ({ method }) => method !== 'GET');
        };
        lose();
        // What existed before would never be removed.
        expect(await session.add(zone, txt('lost')).catch(() => 'unknown')).not.toBe('existed');
        await session.add(zone, txt('lost'));
        expect(await valuesAt()).toEqual(['lost']);
        lose();
        await session.remove(zone, txt('lost')).catch(() => undefined);
        await session.remove(zone, txt('lost'));
        expect(await valuesAt()).toEqual([]);
      },
    );

    it('describes what a customer gives it, and takes exactly that', async () => {
      const kinds = world.provider.credentialKinds(world.account);
      const kind = kinds.find(({ type }) => type === world.credentials.type);
      const given = Object.keys(world.credentials).filter((member) => member !== 'type');
      expect(kind?.members.map((member) => member.name)).toEqual(expect.arrayContaining(given));
      expect(world.provider.advice.length).toBeGreaterThan(40);
      const spoilt = { ...world.credentials, surprise: 'x' };
      await expect(openSession(world, spoilt)).rejects.toMatchObject({
        name: 'Problem',
        code: 'bad_request',
      });
    });
  });
}

async function zoneNamed(session: ProviderSession, name: string): Promise<Zone> {
  const zone = (await session.zones()).find((each) => each.name === name);
  if (zone === undefined) throw new Error(`The fake has no zone ${name}.`);
  return zone;
}

const printable = Array.from({ length: 95 }, (_, at) => String.fromCharCode(32 + at)).join('');
const text = (count: number): string =>
  printable
    .replace(/["\\ ]/g, '')
    .repeat(6)
    .slice(0, count);

/** Texts that every provider must store unchanged, with the limitation that excuses each. */
const txtTexts: readonly (readonly [string, string, Inability | null])[] = [
  ['43 bytes', 'evaGxfADs6pSRb2LAv9IZf17Dt3juxGJ-PCt92wr-oA', null],
  ['254 bytes', text(254), 'long_txt'],
  ['255 bytes', text(255), 'long_txt'],
  ['256 bytes', text(256), 'long_txt'],
  ['512 bytes', text(512), 'long_txt'],
  ['quotes', 'say "hello" and "', 'escapes'],
  ['a quote at both ends', '"quoted"', 'escapes'],
  ['backslashes', 'c:\\new\\065\\', 'escapes'],
  ['semicolons and spaces', 'v=X1; p=a  b; c', 'escapes'],
  ['all printable ASCII', printable.trim(), 'escapes'],
  ['a quote as the 256th byte', `${text(255)}"${text(20)}`, 'escapes'],
];
