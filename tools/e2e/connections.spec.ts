import { settingsOf } from '../k8s/settings';
import { documentedConnections } from './connections';

it('lists every process with a database or Redis, and the defaults of the settings that bound its connections', () => {
  const documented = documentedConnections();
  const processes = Object.keys(settingsOf).filter((process) => process !== 'dns-gateway');
  expect([...documented.keys()].sort()).toEqual(processes.sort());
  for (const [process, { core, ct }] of documented)
    for (const { max, setting } of [core, ct]) {
      const found = setting === null ? 0 : settingsOf[process]?.table[setting]?.default;
      expect({ process, setting, default: found }).toEqual({ process, setting, default: max });
    }
});
