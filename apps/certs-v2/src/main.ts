import 'reflect-metadata';
import { runProcess } from '@certwright/service';
import { readConfig } from './config';
import { start } from './front';

void runProcess({ name: 'certs-v2', config: readConfig, start });
