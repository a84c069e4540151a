import 'reflect-metadata';
import { runProcess } from '@certwright/service';
import { readConfig } from './config';
import { start } from './start';

void runProcess({
  name: 'ct-search',
  config: readConfig,
  start: async (config, running) => void (await start(config, running)),
});
