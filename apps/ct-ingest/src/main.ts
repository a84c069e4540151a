import 'reflect-metadata';
import { runProcess } from '@certwright/service';
import { config } from './config';
import { start } from './start';

void runProcess({ name: 'ct-ingest', config, start });
