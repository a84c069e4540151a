import { Module } from '@nestjs/common';
import { ChangeSettings } from './change-settings.use-case';
import { SettingsController } from './settings.controller';
import { MonitoringSettings } from './settings.repository';

@Module({ controllers: [SettingsController], providers: [MonitoringSettings, ChangeSettings] })
export class SettingsModule {}
