import { ProviderFault } from '../provider-fault';
import { escapedXml, readXml } from './xml';

describe('XML of AWS', () => {
  it('is read with its entities', () => {
    const root = readXml(
      '<?xml version="1.0"?>\n<A xmlns="https://x.example/"><B>&lt;&#34;&#x41;&amp;&gt;</B><C/> <B>2</B></A>\n',
      'A',
    );
    expect(root.all('B').map((element) => element.text())).toEqual(['<"A&>', '2']);
    expect(root.child('C').text()).toBe('');
    expect(root.optional('D')).toBeNull();
  });

  it('text survives a round trip', () => {
    const text = '"a" & <b> \'c\' ]]>';
    expect(readXml(`<A>${escapedXml(text)}</A>`, 'A').text()).toBe(text);
  });

  it.each([
    ['another root', '<B/>'],
    ['an empty text', ''],
    ['JSON', '{"A":1}'],
    ['HTML', '<!doctype html><title>Hello</title>'],
    ['a document type', '<!DOCTYPE A [<!ENTITY x "y">]><A>&x;</A>'],
    ['an unknown entity', '<A>&x;</A>'],
    ['a bare ampersand', '<A>a & b</A>'],
    ['a comment', '<A><!-- x --></A>'],
    ['CDATA', '<A><![CDATA[x]]></A>'],
    ['a processing instruction', '<A><?x?></A>'],
    ['a missing end', '<A><B></B>'],
    ['a wrong end', '<A><B></A></B>'],
    ['something behind the end', '<A/><A/>'],
    ['text between elements', '<A>x<B/></A>'],
    ['a reference to NUL', '<A>&#0;</A>'],
    ['a reference beyond Unicode', '<A>&#x110000;</A>'],
    ['a hundred levels', `${'<A>'.repeat(100)}${'</A>'.repeat(100)}`],
  ])('%s is refused', (_, text) => {
    expect(() => readXml(text, 'A')).toThrow(ProviderFault);
  });

  it('a duplicate child is an error', () => {
    expect(() => readXml('<A><B/><B/></A>', 'A').child('B')).toThrow('more than one B');
  });
});
