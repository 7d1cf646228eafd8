-- The system catalogue that tools look tables up in, on DuckDB: the columns of PostgreSQL 15, most tables empty.
-- What is the same for every declared table, or row key, is a default: everybody who sees a table may read it, and
-- nobody may write. The rest is in declared.py.
-- Names of schemas are short here: pg is pg_catalog, info is information_schema.
CREATE SCHEMA pg;
CREATE SCHEMA info;
CREATE TABLE info.character_sets (
  character_set_catalog VARCHAR, character_set_schema VARCHAR, character_set_name VARCHAR, character_repertoire
  VARCHAR, form_of_use VARCHAR, default_collate_catalog VARCHAR, default_collate_schema VARCHAR,
  default_collate_name VARCHAR
);
CREATE TABLE info.check_constraints (
  constraint_catalog VARCHAR, constraint_schema VARCHAR, constraint_name VARCHAR, check_clause VARCHAR
);
CREATE TABLE info.column_privileges (
  grantor VARCHAR DEFAULT 'errorfloor', grantee VARCHAR DEFAULT 'PUBLIC', table_catalog VARCHAR DEFAULT 'errorfloor',
  table_schema VARCHAR DEFAULT 'public', table_name VARCHAR, column_name VARCHAR, privilege_type VARCHAR DEFAULT
  'SELECT', is_grantable VARCHAR DEFAULT 'NO'
);
CREATE TABLE info.columns (
  table_catalog VARCHAR DEFAULT 'errorfloor', table_schema VARCHAR DEFAULT 'public', table_name VARCHAR, column_name
  VARCHAR, ordinal_position INTEGER, column_default VARCHAR, is_nullable VARCHAR, data_type VARCHAR,
  character_maximum_length INTEGER, character_octet_length INTEGER, numeric_precision INTEGER,
  numeric_precision_radix INTEGER, numeric_scale INTEGER, datetime_precision INTEGER, interval_type VARCHAR,
  interval_precision INTEGER, character_set_catalog VARCHAR, character_set_schema VARCHAR, character_set_name
  VARCHAR, collation_catalog VARCHAR, collation_schema VARCHAR, collation_name VARCHAR, domain_catalog VARCHAR,
  domain_schema VARCHAR, domain_name VARCHAR, udt_catalog VARCHAR DEFAULT 'errorfloor', udt_schema VARCHAR DEFAULT
  'pg_catalog', udt_name VARCHAR, scope_catalog VARCHAR, scope_schema VARCHAR, scope_name VARCHAR,
  maximum_cardinality INTEGER, dtd_identifier VARCHAR, is_self_referencing VARCHAR DEFAULT 'NO', is_identity VARCHAR
  DEFAULT 'NO', identity_generation VARCHAR, identity_start VARCHAR, identity_increment VARCHAR, identity_maximum
  VARCHAR, identity_minimum VARCHAR, identity_cycle VARCHAR, is_generated VARCHAR DEFAULT 'NEVER',
  generation_expression VARCHAR, is_updatable VARCHAR DEFAULT 'NO'
);
CREATE TABLE info.constraint_column_usage (
  table_catalog VARCHAR, table_schema VARCHAR, table_name VARCHAR, column_name VARCHAR, constraint_catalog VARCHAR,
  constraint_schema VARCHAR, constraint_name VARCHAR
);
CREATE TABLE info.domains (
  domain_catalog VARCHAR, domain_schema VARCHAR, domain_name VARCHAR, data_type VARCHAR, character_maximum_length
  INTEGER, character_octet_length INTEGER, character_set_catalog VARCHAR, character_set_schema VARCHAR,
  character_set_name VARCHAR, collation_catalog VARCHAR, collation_schema VARCHAR, collation_name VARCHAR,
  numeric_precision INTEGER, numeric_precision_radix INTEGER, numeric_scale INTEGER, datetime_precision INTEGER,
  interval_type VARCHAR, interval_precision INTEGER, domain_default VARCHAR, udt_catalog VARCHAR, udt_schema
  VARCHAR, udt_name VARCHAR, scope_catalog VARCHAR, scope_schema VARCHAR, scope_name VARCHAR, maximum_cardinality
  INTEGER, dtd_identifier VARCHAR
);
CREATE TABLE info.element_types (
  object_catalog VARCHAR, object_schema VARCHAR, object_name VARCHAR, object_type VARCHAR,
  collection_type_identifier VARCHAR, data_type VARCHAR, character_maximum_length INTEGER, character_octet_length
  INTEGER, character_set_catalog VARCHAR, character_set_schema VARCHAR, character_set_name VARCHAR,
  collation_catalog VARCHAR, collation_schema VARCHAR, collation_name VARCHAR, numeric_precision INTEGER,
  numeric_precision_radix INTEGER, numeric_scale INTEGER, datetime_precision INTEGER, interval_type VARCHAR,
  interval_precision INTEGER, domain_default VARCHAR, udt_catalog VARCHAR, udt_schema VARCHAR, udt_name VARCHAR,
  scope_catalog VARCHAR, scope_schema VARCHAR, scope_name VARCHAR, maximum_cardinality INTEGER, dtd_identifier
  VARCHAR
);
CREATE TABLE info.key_column_usage (
  constraint_catalog VARCHAR DEFAULT 'errorfloor', constraint_schema VARCHAR DEFAULT 'public', constraint_name
  VARCHAR, table_catalog VARCHAR DEFAULT 'errorfloor', table_schema VARCHAR DEFAULT 'public', table_name VARCHAR,
  column_name VARCHAR, ordinal_position INTEGER, position_in_unique_constraint INTEGER
);
CREATE TABLE info.parameters (
  specific_catalog VARCHAR, specific_schema VARCHAR, specific_name VARCHAR, ordinal_position INTEGER, parameter_mode
  VARCHAR, is_result VARCHAR, as_locator VARCHAR, parameter_name VARCHAR, data_type VARCHAR,
  character_maximum_length INTEGER, character_octet_length INTEGER, character_set_catalog VARCHAR,
  character_set_schema VARCHAR, character_set_name VARCHAR, collation_catalog VARCHAR, collation_schema VARCHAR,
  collation_name VARCHAR, numeric_precision INTEGER, numeric_precision_radix INTEGER, numeric_scale INTEGER,
  datetime_precision INTEGER, interval_type VARCHAR, interval_precision INTEGER, udt_catalog VARCHAR, udt_schema
  VARCHAR, udt_name VARCHAR, scope_catalog VARCHAR, scope_schema VARCHAR, scope_name VARCHAR, maximum_cardinality
  INTEGER, dtd_identifier VARCHAR, parameter_default VARCHAR
);
CREATE TABLE info.referential_constraints (
  constraint_catalog VARCHAR, constraint_schema VARCHAR, constraint_name VARCHAR, unique_constraint_catalog VARCHAR,
  unique_constraint_schema VARCHAR, unique_constraint_name VARCHAR, match_option VARCHAR, update_rule VARCHAR,
  delete_rule VARCHAR
);
CREATE TABLE info.role_table_grants (
  grantor VARCHAR, grantee VARCHAR, table_catalog VARCHAR, table_schema VARCHAR, table_name VARCHAR, privilege_type
  VARCHAR, is_grantable VARCHAR, with_hierarchy VARCHAR
);
CREATE TABLE info.routines (
  specific_catalog VARCHAR, specific_schema VARCHAR, specific_name VARCHAR, routine_catalog VARCHAR, routine_schema
  VARCHAR, routine_name VARCHAR, routine_type VARCHAR, module_catalog VARCHAR, module_schema VARCHAR, module_name
  VARCHAR, udt_catalog VARCHAR, udt_schema VARCHAR, udt_name VARCHAR, data_type VARCHAR, character_maximum_length
  INTEGER, character_octet_length INTEGER, character_set_catalog VARCHAR, character_set_schema VARCHAR,
  character_set_name VARCHAR, collation_catalog VARCHAR, collation_schema VARCHAR, collation_name VARCHAR,
  numeric_precision INTEGER, numeric_precision_radix INTEGER, numeric_scale INTEGER, datetime_precision INTEGER,
  interval_type VARCHAR, interval_precision INTEGER, type_udt_catalog VARCHAR, type_udt_schema VARCHAR,
  type_udt_name VARCHAR, scope_catalog VARCHAR, scope_schema VARCHAR, scope_name VARCHAR, maximum_cardinality
  INTEGER, dtd_identifier VARCHAR, routine_body VARCHAR, routine_definition VARCHAR, external_name VARCHAR,
  external_language VARCHAR, parameter_style VARCHAR, is_deterministic VARCHAR, sql_data_access VARCHAR,
  is_null_call VARCHAR, sql_path VARCHAR, schema_level_routine VARCHAR, max_dynamic_result_sets INTEGER,
  is_user_defined_cast VARCHAR, is_implicitly_invocable VARCHAR, security_type VARCHAR, to_sql_specific_catalog
  VARCHAR, to_sql_specific_schema VARCHAR, to_sql_specific_name VARCHAR, as_locator VARCHAR, created VARCHAR,
  last_altered VARCHAR, new_savepoint_level VARCHAR, is_udt_dependent VARCHAR, result_cast_from_data_type VARCHAR,
  result_cast_as_locator VARCHAR, result_cast_char_max_length INTEGER, result_cast_char_octet_length INTEGER,
  result_cast_char_set_catalog VARCHAR, result_cast_char_set_schema VARCHAR, result_cast_char_set_name VARCHAR,
  result_cast_collation_catalog VARCHAR, result_cast_collation_schema VARCHAR, result_cast_collation_name VARCHAR,
  result_cast_numeric_precision INTEGER, result_cast_numeric_precision_radix INTEGER, result_cast_numeric_scale
  INTEGER, result_cast_datetime_precision INTEGER, result_cast_interval_type VARCHAR, result_cast_interval_precision
  INTEGER, result_cast_type_udt_catalog VARCHAR, result_cast_type_udt_schema VARCHAR, result_cast_type_udt_name
  VARCHAR, result_cast_scope_catalog VARCHAR, result_cast_scope_schema VARCHAR, result_cast_scope_name VARCHAR,
  result_cast_maximum_cardinality INTEGER, result_cast_dtd_identifier VARCHAR
);
CREATE TABLE info.routine_privileges (
  grantor VARCHAR, grantee VARCHAR, specific_catalog VARCHAR, specific_schema VARCHAR, specific_name VARCHAR,
  routine_catalog VARCHAR, routine_schema VARCHAR, routine_name VARCHAR, privilege_type VARCHAR, is_grantable VARCHAR
);
CREATE TABLE info.schemata (
  catalog_name VARCHAR, schema_name VARCHAR, schema_owner VARCHAR, default_character_set_catalog VARCHAR,
  default_character_set_schema VARCHAR, default_character_set_name VARCHAR, sql_path VARCHAR
);
CREATE TABLE info.sequences (
  sequence_catalog VARCHAR, sequence_schema VARCHAR, sequence_name VARCHAR, data_type VARCHAR, numeric_precision
  INTEGER, numeric_precision_radix INTEGER, numeric_scale INTEGER, start_value VARCHAR, minimum_value VARCHAR,
  maximum_value VARCHAR, increment VARCHAR, cycle_option VARCHAR
);
CREATE TABLE info.table_constraints (
  constraint_catalog VARCHAR DEFAULT 'errorfloor', constraint_schema VARCHAR DEFAULT 'public', constraint_name
  VARCHAR, table_catalog VARCHAR DEFAULT 'errorfloor', table_schema VARCHAR DEFAULT 'public', table_name VARCHAR,
  constraint_type VARCHAR DEFAULT 'PRIMARY KEY', is_deferrable VARCHAR DEFAULT 'NO', "initially_deferred" VARCHAR,
  enforced VARCHAR, nulls_distinct VARCHAR
);
CREATE TABLE info.table_privileges (
  grantor VARCHAR DEFAULT 'errorfloor', grantee VARCHAR DEFAULT 'PUBLIC', table_catalog VARCHAR DEFAULT 'errorfloor',
  table_schema VARCHAR DEFAULT 'public', table_name VARCHAR, privilege_type VARCHAR DEFAULT 'SELECT', is_grantable
  VARCHAR DEFAULT 'NO', with_hierarchy VARCHAR DEFAULT 'NO'
);
CREATE TABLE info.tables (
  table_catalog VARCHAR DEFAULT 'errorfloor', table_schema VARCHAR DEFAULT 'public', table_name VARCHAR, table_type
  VARCHAR DEFAULT 'BASE TABLE', self_referencing_column_name VARCHAR, reference_generation VARCHAR,
  user_defined_type_catalog VARCHAR, user_defined_type_schema VARCHAR, user_defined_type_name VARCHAR,
  is_insertable_into VARCHAR DEFAULT 'NO', is_typed VARCHAR DEFAULT 'NO', commit_action VARCHAR
);
CREATE TABLE info.triggers (
  trigger_catalog VARCHAR, trigger_schema VARCHAR, trigger_name VARCHAR, event_manipulation VARCHAR,
  event_object_catalog VARCHAR, event_object_schema VARCHAR, event_object_table VARCHAR, action_order INTEGER,
  action_condition VARCHAR, action_statement VARCHAR, action_orientation VARCHAR, action_timing VARCHAR,
  action_reference_old_table VARCHAR, action_reference_new_table VARCHAR, action_reference_old_row VARCHAR,
  action_reference_new_row VARCHAR, created VARCHAR
);
CREATE TABLE info.views (
  table_catalog VARCHAR, table_schema VARCHAR, table_name VARCHAR, view_definition VARCHAR, check_option VARCHAR,
  is_updatable VARCHAR, is_insertable_into VARCHAR, is_trigger_updatable VARCHAR, is_trigger_deletable VARCHAR,
  is_trigger_insertable_into VARCHAR
);
CREATE TABLE pg.pg_aggregate (
  aggfnoid BIGINT, aggkind VARCHAR, aggnumdirectargs SMALLINT, aggtransfn BIGINT, aggfinalfn BIGINT, aggcombinefn
  BIGINT, aggserialfn BIGINT, aggdeserialfn BIGINT, aggmtransfn BIGINT, aggminvtransfn BIGINT, aggmfinalfn BIGINT,
  aggfinalextra BOOLEAN, aggmfinalextra BOOLEAN, aggfinalmodify VARCHAR, aggmfinalmodify VARCHAR, aggsortop BIGINT,
  aggtranstype BIGINT, aggtransspace INTEGER, aggmtranstype BIGINT, aggmtransspace INTEGER, agginitval VARCHAR,
  aggminitval VARCHAR
);
CREATE TABLE pg.pg_am (
  oid BIGINT, amname VARCHAR, amhandler BIGINT, amtype VARCHAR
);
CREATE TABLE pg.pg_attrdef (
  oid BIGINT, adrelid BIGINT, adnum SMALLINT, adbin VARCHAR
);
CREATE TABLE pg.pg_attribute (
  attrelid BIGINT, attname VARCHAR, atttypid BIGINT, attstattarget INTEGER DEFAULT -1, attlen SMALLINT, attnum
  SMALLINT, attndims INTEGER DEFAULT 0, attcacheoff INTEGER DEFAULT -1, atttypmod INTEGER DEFAULT -1, attbyval
  BOOLEAN, attalign VARCHAR, attstorage VARCHAR DEFAULT 'p', attcompression VARCHAR DEFAULT '', attnotnull BOOLEAN,
  atthasdef BOOLEAN DEFAULT false, atthasmissing BOOLEAN DEFAULT false, attidentity VARCHAR DEFAULT '', attgenerated
  VARCHAR DEFAULT '', attisdropped BOOLEAN DEFAULT false, attislocal BOOLEAN DEFAULT true, attinhcount INTEGER
  DEFAULT 0, attcollation BIGINT DEFAULT 0, attacl VARCHAR[] DEFAULT ['=r/errorfloor'], attoptions VARCHAR[],
  attfdwoptions VARCHAR[], attmissingval VARCHAR
);
CREATE TABLE pg.pg_auth_members (
  roleid BIGINT, member BIGINT, grantor BIGINT, admin_option BOOLEAN
);
CREATE TABLE pg.pg_authid (
  oid BIGINT, rolname VARCHAR, rolsuper BOOLEAN, rolinherit BOOLEAN, rolcreaterole BOOLEAN, rolcreatedb BOOLEAN,
  rolcanlogin BOOLEAN, rolreplication BOOLEAN, rolbypassrls BOOLEAN, rolconnlimit INTEGER, rolpassword VARCHAR,
  rolvaliduntil TIMESTAMP
);
CREATE TABLE pg.pg_available_extensions (
  name VARCHAR, default_version VARCHAR, installed_version VARCHAR, comment VARCHAR
);
CREATE TABLE pg.pg_cast (
  oid BIGINT, castsource BIGINT, casttarget BIGINT, castfunc BIGINT, castcontext VARCHAR, castmethod VARCHAR
);
CREATE TABLE pg.pg_class (
  oid BIGINT, relname VARCHAR, relnamespace BIGINT DEFAULT 2200, reltype BIGINT DEFAULT 0, reloftype BIGINT DEFAULT
  0, relowner BIGINT DEFAULT 10, relam BIGINT, relfilenode BIGINT DEFAULT 0, reltablespace BIGINT DEFAULT 0, relpages
  INTEGER DEFAULT 0, reltuples FLOAT DEFAULT -1, relallvisible INTEGER, reltoastrelid BIGINT DEFAULT 0, relhasindex
  BOOLEAN, relisshared BOOLEAN DEFAULT false, relpersistence VARCHAR DEFAULT 'p', relkind VARCHAR, relnatts SMALLINT,
  relchecks SMALLINT DEFAULT 0, relhasrules BOOLEAN DEFAULT false, relhastriggers BOOLEAN DEFAULT false,
  relhassubclass BOOLEAN DEFAULT false, relrowsecurity BOOLEAN DEFAULT false, relforcerowsecurity BOOLEAN DEFAULT
  false, relispopulated BOOLEAN DEFAULT true, relreplident VARCHAR DEFAULT 'd', relispartition BOOLEAN DEFAULT false,
  relrewrite BIGINT, relfrozenxid BIGINT, relminmxid BIGINT, relacl VARCHAR[] DEFAULT ['=r/errorfloor'], reloptions
  VARCHAR[], relpartbound VARCHAR
);
CREATE TABLE pg.pg_collation (
  oid BIGINT, collname VARCHAR, collnamespace BIGINT, collowner BIGINT, collprovider VARCHAR, collisdeterministic
  BOOLEAN, collencoding INTEGER, collcollate VARCHAR, collctype VARCHAR, colliculocale VARCHAR, collversion VARCHAR
);
CREATE TABLE pg.pg_constraint (
  oid BIGINT, conname VARCHAR, connamespace BIGINT DEFAULT 2200, contype VARCHAR DEFAULT 'p', condeferrable BOOLEAN
  DEFAULT false, condeferred BOOLEAN DEFAULT false, convalidated BOOLEAN DEFAULT true, conrelid BIGINT, contypid
  BIGINT DEFAULT 0, conindid BIGINT, conparentid BIGINT DEFAULT 0, confrelid BIGINT DEFAULT 0, confupdtype VARCHAR,
  confdeltype VARCHAR, confmatchtype VARCHAR, conislocal BOOLEAN DEFAULT true, coninhcount INTEGER, connoinherit
  BOOLEAN, conkey SMALLINT[], confkey SMALLINT[], conpfeqop BIGINT[], conppeqop BIGINT[], conffeqop BIGINT[],
  confdelsetcols SMALLINT[], conexclop BIGINT[], conbin VARCHAR
);
CREATE TABLE pg.pg_conversion (
  oid BIGINT, conname VARCHAR, connamespace BIGINT, conowner BIGINT, conforencoding INTEGER, contoencoding INTEGER,
  conproc BIGINT, condefault BOOLEAN
);
CREATE TABLE pg.pg_database (
  oid BIGINT, datname VARCHAR, datdba BIGINT, encoding INTEGER, datlocprovider VARCHAR, datistemplate BOOLEAN,
  datallowconn BOOLEAN, datconnlimit INTEGER, datfrozenxid BIGINT, datminmxid BIGINT, dattablespace BIGINT,
  datcollate VARCHAR, datctype VARCHAR, daticulocale VARCHAR, datcollversion VARCHAR, datacl VARCHAR[]
);
CREATE TABLE pg.pg_db_role_setting (
  setdatabase BIGINT, setrole BIGINT, setconfig VARCHAR[]
);
CREATE TABLE pg.pg_depend (
  classid BIGINT, objid BIGINT, objsubid INTEGER, refclassid BIGINT, refobjid BIGINT, refobjsubid INTEGER, deptype
  VARCHAR
);
CREATE TABLE pg.pg_description (
  objoid BIGINT, classoid BIGINT DEFAULT 1259, objsubid INTEGER, description VARCHAR
);
CREATE TABLE pg.pg_enum (
  oid BIGINT, enumtypid BIGINT, enumsortorder FLOAT, enumlabel VARCHAR
);
CREATE TABLE pg.pg_event_trigger (
  oid BIGINT, evtname VARCHAR, evtevent VARCHAR, evtowner BIGINT, evtfoid BIGINT, evtenabled VARCHAR, evttags
  VARCHAR[]
);
CREATE TABLE pg.pg_extension (
  oid BIGINT, extname VARCHAR, extowner BIGINT, extnamespace BIGINT, extrelocatable BOOLEAN, extversion VARCHAR,
  extconfig BIGINT[], extcondition VARCHAR[]
);
CREATE TABLE pg.pg_foreign_data_wrapper (
  oid BIGINT, fdwname VARCHAR, fdwowner BIGINT, fdwhandler BIGINT, fdwvalidator BIGINT, fdwacl VARCHAR[], fdwoptions
  VARCHAR[]
);
CREATE TABLE pg.pg_foreign_server (
  oid BIGINT, srvname VARCHAR, srvowner BIGINT, srvfdw BIGINT, srvtype VARCHAR, srvversion VARCHAR, srvacl
  VARCHAR[], srvoptions VARCHAR[]
);
CREATE TABLE pg.pg_foreign_table (
  ftrelid BIGINT, ftserver BIGINT, ftoptions VARCHAR[]
);
CREATE TABLE pg.pg_index (
  indexrelid BIGINT, indrelid BIGINT, indnatts SMALLINT, indnkeyatts SMALLINT, indisunique BOOLEAN DEFAULT true,
  indnullsnotdistinct BOOLEAN DEFAULT false, indisprimary BOOLEAN DEFAULT true, indisexclusion BOOLEAN DEFAULT false,
  indimmediate BOOLEAN DEFAULT true, indisclustered BOOLEAN DEFAULT false, indisvalid BOOLEAN DEFAULT true,
  indcheckxmin BOOLEAN DEFAULT false, indisready BOOLEAN DEFAULT true, indislive BOOLEAN DEFAULT true, indisreplident
  BOOLEAN DEFAULT false, indkey SMALLINT[], indcollation BIGINT[], indclass BIGINT[], indoption SMALLINT[], indexprs
  VARCHAR, indpred VARCHAR
);
CREATE TABLE pg.pg_indexes (
  schemaname VARCHAR, tablename VARCHAR, indexname VARCHAR, tablespace VARCHAR, indexdef VARCHAR
);
CREATE TABLE pg.pg_inherits (
  inhrelid BIGINT, inhparent BIGINT, inhseqno INTEGER, inhdetachpending BOOLEAN
);
CREATE TABLE pg.pg_language (
  oid BIGINT, lanname VARCHAR, lanowner BIGINT, lanispl BOOLEAN, lanpltrusted BOOLEAN, lanplcallfoid BIGINT,
  laninline BIGINT, lanvalidator BIGINT, lanacl VARCHAR[]
);
CREATE TABLE pg.pg_locks (
  locktype VARCHAR, database BIGINT, relation BIGINT, page INTEGER, tuple SMALLINT, virtualxid VARCHAR,
  transactionid BIGINT, classid BIGINT, objid BIGINT, objsubid SMALLINT, virtualtransaction VARCHAR, pid INTEGER,
  mode VARCHAR, granted BOOLEAN, fastpath BOOLEAN, waitstart TIMESTAMP
);
CREATE TABLE pg.pg_matviews (
  schemaname VARCHAR, matviewname VARCHAR, matviewowner VARCHAR, tablespace VARCHAR, hasindexes BOOLEAN, ispopulated
  BOOLEAN, definition VARCHAR
);
CREATE TABLE pg.pg_namespace (
  oid BIGINT, nspname VARCHAR, nspowner BIGINT, nspacl VARCHAR[]
);
CREATE TABLE pg.pg_opclass (
  oid BIGINT, opcmethod BIGINT, opcname VARCHAR, opcnamespace BIGINT, opcowner BIGINT, opcfamily BIGINT, opcintype
  BIGINT, opcdefault BOOLEAN, opckeytype BIGINT
);
CREATE TABLE pg.pg_operator (
  oid BIGINT, oprname VARCHAR, oprnamespace BIGINT, oprowner BIGINT, oprkind VARCHAR, oprcanmerge BOOLEAN,
  oprcanhash BOOLEAN, oprleft BIGINT, oprright BIGINT, oprresult BIGINT, oprcom BIGINT, oprnegate BIGINT, oprcode
  BIGINT, oprrest BIGINT, oprjoin BIGINT
);
CREATE TABLE pg.pg_partitioned_table (
  partrelid BIGINT, partstrat VARCHAR, partnatts SMALLINT, partdefid BIGINT, partattrs SMALLINT[], partclass
  BIGINT[], partcollation BIGINT[], partexprs VARCHAR
);
CREATE TABLE pg.pg_policies (
  schemaname VARCHAR, tablename VARCHAR, policyname VARCHAR, permissive VARCHAR, roles VARCHAR[], cmd VARCHAR, qual
  VARCHAR, with_check VARCHAR
);
CREATE TABLE pg.pg_policy (
  oid BIGINT, polname VARCHAR, polrelid BIGINT, polcmd VARCHAR, polpermissive BOOLEAN, polroles BIGINT[], polqual
  VARCHAR, polwithcheck VARCHAR
);
CREATE TABLE pg.pg_proc (
  oid BIGINT, proname VARCHAR, pronamespace BIGINT, proowner BIGINT, prolang BIGINT, procost FLOAT, prorows FLOAT,
  provariadic BIGINT, prosupport BIGINT, prokind VARCHAR, prosecdef BOOLEAN, proleakproof BOOLEAN, proisstrict
  BOOLEAN, proretset BOOLEAN, provolatile VARCHAR, proparallel VARCHAR, pronargs SMALLINT, pronargdefaults SMALLINT,
  prorettype BIGINT, proargtypes BIGINT[], proallargtypes BIGINT[], proargmodes VARCHAR[], proargnames VARCHAR[],
  proargdefaults VARCHAR, protrftypes BIGINT[], prosrc VARCHAR, probin VARCHAR, prosqlbody VARCHAR, proconfig
  VARCHAR[], proacl VARCHAR[]
);
CREATE TABLE pg.pg_publication (
  oid BIGINT, pubname VARCHAR, pubowner BIGINT, puballtables BOOLEAN, pubinsert BOOLEAN, pubupdate BOOLEAN,
  pubdelete BOOLEAN, pubtruncate BOOLEAN, pubviaroot BOOLEAN
);
CREATE TABLE pg.pg_publication_namespace (
  oid BIGINT, pnpubid BIGINT, pnnspid BIGINT
);
CREATE TABLE pg.pg_publication_rel (
  oid BIGINT, prpubid BIGINT, prrelid BIGINT, prqual VARCHAR, prattrs SMALLINT[]
);
CREATE TABLE pg.pg_range (
  rngtypid BIGINT, rngsubtype BIGINT, rngmultitypid BIGINT, rngcollation BIGINT, rngsubopc BIGINT, rngcanonical
  BIGINT, rngsubdiff BIGINT
);
CREATE TABLE pg.pg_default_acl (
  oid BIGINT, defaclrole BIGINT, defaclnamespace BIGINT, defaclobjtype VARCHAR, defaclacl VARCHAR[]
);
CREATE TABLE pg.pg_rewrite (
  oid BIGINT, rulename VARCHAR, ev_class BIGINT, ev_type VARCHAR, ev_enabled VARCHAR, is_instead BOOLEAN, ev_qual
  VARCHAR, ev_action VARCHAR
);
CREATE TABLE pg.pg_roles (
  rolname VARCHAR, rolsuper BOOLEAN, rolinherit BOOLEAN, rolcreaterole BOOLEAN, rolcreatedb BOOLEAN, rolcanlogin
  BOOLEAN, rolreplication BOOLEAN, rolconnlimit INTEGER, rolpassword VARCHAR, rolvaliduntil TIMESTAMP, rolbypassrls
  BOOLEAN, rolconfig VARCHAR[], oid BIGINT
);
CREATE TABLE pg.pg_seclabel (
  objoid BIGINT, classoid BIGINT, objsubid INTEGER, provider VARCHAR, label VARCHAR
);
CREATE TABLE pg.pg_sequence (
  seqrelid BIGINT, seqtypid BIGINT, seqstart BIGINT, seqincrement BIGINT, seqmax BIGINT, seqmin BIGINT, seqcache
  BIGINT, seqcycle BOOLEAN
);
CREATE TABLE pg.pg_sequences (
  schemaname VARCHAR, sequencename VARCHAR, sequenceowner VARCHAR, data_type BIGINT, start_value BIGINT, min_value
  BIGINT, max_value BIGINT, increment_by BIGINT, cycle BOOLEAN, cache_size BIGINT, last_value BIGINT
);
CREATE TABLE pg.pg_settings (
  name VARCHAR, setting VARCHAR, unit VARCHAR, category VARCHAR, short_desc VARCHAR, extra_desc VARCHAR, context
  VARCHAR, vartype VARCHAR, source VARCHAR, min_val VARCHAR, max_val VARCHAR, enumvals VARCHAR[], boot_val VARCHAR,
  reset_val VARCHAR, sourcefile VARCHAR, sourceline INTEGER, pending_restart BOOLEAN
);
CREATE TABLE pg.pg_shdescription (
  objoid BIGINT, classoid BIGINT, description VARCHAR
);
CREATE TABLE pg.pg_stat_activity (
  datid BIGINT, datname VARCHAR, pid INTEGER, leader_pid INTEGER, usesysid BIGINT, usename VARCHAR, application_name
  VARCHAR, client_addr VARCHAR, client_hostname VARCHAR, client_port INTEGER, backend_start TIMESTAMP, xact_start
  TIMESTAMP, query_start TIMESTAMP, state_change TIMESTAMP, wait_event_type VARCHAR, wait_event VARCHAR, state
  VARCHAR, backend_xid BIGINT, backend_xmin BIGINT, query_id BIGINT, query VARCHAR, backend_type VARCHAR
);
CREATE TABLE pg.pg_stat_user_tables (
  relid BIGINT, schemaname VARCHAR, relname VARCHAR, seq_scan BIGINT, seq_tup_read BIGINT, idx_scan BIGINT,
  idx_tup_fetch BIGINT, n_tup_ins BIGINT, n_tup_upd BIGINT, n_tup_del BIGINT, n_tup_hot_upd BIGINT, n_live_tup
  BIGINT, n_dead_tup BIGINT, n_mod_since_analyze BIGINT, n_ins_since_vacuum BIGINT, last_vacuum TIMESTAMP,
  last_autovacuum TIMESTAMP, last_analyze TIMESTAMP, last_autoanalyze TIMESTAMP, vacuum_count BIGINT,
  autovacuum_count BIGINT, analyze_count BIGINT, autoanalyze_count BIGINT
);
CREATE TABLE pg.pg_statistic_ext (
  oid BIGINT, stxrelid BIGINT, stxname VARCHAR, stxnamespace BIGINT, stxowner BIGINT, stxstattarget INTEGER, stxkeys
  SMALLINT[], stxkind VARCHAR[], stxexprs VARCHAR
);
CREATE TABLE pg.pg_tables (
  schemaname VARCHAR DEFAULT 'public', tablename VARCHAR, tableowner VARCHAR DEFAULT 'errorfloor', tablespace
  VARCHAR, hasindexes BOOLEAN, hasrules BOOLEAN, hastriggers BOOLEAN, rowsecurity BOOLEAN
);
CREATE TABLE pg.pg_tablespace (
  oid BIGINT, spcname VARCHAR, spcowner BIGINT, spcacl VARCHAR[], spcoptions VARCHAR[]
);
CREATE TABLE pg.pg_trigger (
  oid BIGINT, tgrelid BIGINT, tgparentid BIGINT, tgname VARCHAR, tgfoid BIGINT, tgtype SMALLINT, tgenabled VARCHAR,
  tgisinternal BOOLEAN, tgconstrrelid BIGINT, tgconstrindid BIGINT, tgconstraint BIGINT, tgdeferrable BOOLEAN,
  tginitdeferred BOOLEAN, tgnargs SMALLINT, tgattr SMALLINT[], tgargs VARCHAR, tgqual VARCHAR, tgoldtable VARCHAR,
  tgnewtable VARCHAR
);
CREATE TABLE pg.pg_ts_config (
  oid BIGINT, cfgname VARCHAR, cfgnamespace BIGINT, cfgowner BIGINT, cfgparser BIGINT
);
CREATE TABLE pg.pg_type (
  oid BIGINT, typname VARCHAR, typnamespace BIGINT, typowner BIGINT, typlen SMALLINT, typbyval BOOLEAN, typtype
  VARCHAR, typcategory VARCHAR, typispreferred BOOLEAN, typisdefined BOOLEAN, typdelim VARCHAR, typrelid BIGINT,
  typsubscript BIGINT, typelem BIGINT, typarray BIGINT, typinput BIGINT, typoutput BIGINT, typreceive BIGINT,
  typsend BIGINT, typmodin BIGINT, typmodout BIGINT, typanalyze BIGINT, typalign VARCHAR, typstorage VARCHAR,
  typnotnull BOOLEAN, typbasetype BIGINT, typtypmod INTEGER, typndims INTEGER, typcollation BIGINT, typdefaultbin
  VARCHAR, typdefault VARCHAR, typacl VARCHAR[]
);
CREATE TABLE pg.pg_user (
  usename VARCHAR, usesysid BIGINT, usecreatedb BOOLEAN, usesuper BOOLEAN, userepl BOOLEAN, usebypassrls BOOLEAN,
  passwd VARCHAR, valuntil TIMESTAMP, useconfig VARCHAR[]
);
CREATE TABLE pg.pg_views (
  schemaname VARCHAR, viewname VARCHAR, viewowner VARCHAR, definition VARCHAR
);

INSERT INTO pg.pg_namespace (oid, nspname, nspowner) VALUES
  (11, 'pg_catalog', 10), (2200, 'public', 10), (13000, 'information_schema', 10);
INSERT INTO pg.pg_am (oid, amname, amtype) VALUES (2, 'heap', 't'), (403, 'btree', 'i');
INSERT INTO pg.pg_database
  (oid, datname, datdba, encoding, datlocprovider, datistemplate, datallowconn, datconnlimit, dattablespace, datcollate, datctype)
  VALUES (16000, 'errorfloor', 10, 6, 'c', false, true, -1, 1663, 'C', 'C');
INSERT INTO pg.pg_roles
  (rolname, rolsuper, rolinherit, rolcreaterole, rolcreatedb, rolcanlogin, rolreplication, rolconnlimit, rolbypassrls, oid)
  VALUES ('errorfloor', false, true, false, false, true, false, -1, false, 10);
INSERT INTO pg.pg_user (usename, usesysid, usecreatedb, usesuper) VALUES ('errorfloor', 10, false, false);
INSERT INTO pg.pg_tablespace (oid, spcname, spcowner) VALUES (1663, 'pg_default', 10);
INSERT INTO pg.pg_settings (name, setting) VALUES
  ('max_index_keys', '32'), ('server_version_num', '150000'), ('server_version', '15.0'), ('TimeZone', 'UTC'),
  ('standard_conforming_strings', 'on'), ('default_transaction_isolation', 'read committed'),
  ('max_identifier_length', '63'), ('server_encoding', 'UTF8'), ('lc_collate', 'C'), ('search_path', 'public');
INSERT INTO pg.pg_type (oid, typname, typlen, typtype, typcategory, typarray, typelem, typbyval) VALUES
  (16, 'bool', 1, 'b', 'B', 1000, 0, true), (17, 'bytea', -1, 'b', 'U', 1001, 0, false),
  (18, 'char', 1, 'b', 'Z', 1002, 0, true), (19, 'name', 64, 'b', 'S', 1003, 18, false),
  (20, 'int8', 8, 'b', 'N', 1016, 0, true), (21, 'int2', 2, 'b', 'N', 1005, 0, true),
  (23, 'int4', 4, 'b', 'N', 1007, 0, true), (25, 'text', -1, 'b', 'S', 1009, 0, false),
  (26, 'oid', 4, 'b', 'N', 1028, 0, true), (700, 'float4', 4, 'b', 'N', 1021, 0, true),
  (701, 'float8', 8, 'b', 'N', 1022, 0, true), (705, 'unknown', -2, 'p', 'X', 0, 0, false),
  (1009, '_text', -1, 'b', 'A', 0, 25, false), (1016, '_int8', -1, 'b', 'A', 0, 20, false),
  (1022, '_float8', -1, 'b', 'A', 0, 701, false), (1042, 'bpchar', -1, 'b', 'S', 1014, 0, false),
  (1043, 'varchar', -1, 'b', 'S', 1015, 0, false), (1082, 'date', 4, 'b', 'D', 1182, 0, true),
  (1114, 'timestamp', 8, 'b', 'D', 1115, 0, true), (1184, 'timestamptz', 8, 'b', 'D', 1185, 0, true),
  (1700, 'numeric', -1, 'b', 'N', 1231, 0, false);
UPDATE pg.pg_type SET typnamespace = 11, typowner = 10, typisdefined = true, typdelim = ',', typrelid = 0, typnotnull = false,
  typbasetype = 0, typtypmod = -1, typndims = 0, typcollation = 0,
  typinput = CASE typcategory WHEN 'A' THEN 750 ELSE 0 END, typreceive = CASE oid
    WHEN 16 THEN 2436 WHEN 17 THEN 2412 WHEN 18 THEN 2434 WHEN 19 THEN 2422 WHEN 20 THEN 2408 WHEN 21 THEN 2404 WHEN
    23 THEN 2406 WHEN 25 THEN 2414 WHEN 26 THEN 2418 WHEN 700 THEN 2424 WHEN 701 THEN 2426 WHEN 705 THEN 2416 WHEN
    1042 THEN 2430 WHEN 1043 THEN 2432 WHEN 1082 THEN 2468 WHEN 1114 THEN 2474 WHEN 1184 THEN 2476 WHEN 1700 THEN 2460
    ELSE 2400 END;
INSERT INTO pg.pg_proc (oid, proname, pronamespace, prokind, prorettype) VALUES
  (750, 'array_in', 11, 'f', 2277), (2400, 'array_recv', 11, 'f', 2277), (2404, 'int2recv', 11, 'f', 0),
  (2406, 'int4recv', 11, 'f', 0), (2408, 'int8recv', 11, 'f', 0), (2412, 'bytearecv', 11, 'f', 0),
  (2414, 'textrecv', 11, 'f', 0), (2416, 'unknownrecv', 11, 'f', 0), (2418, 'oidrecv', 11, 'f', 0),
  (2422, 'namerecv', 11, 'f', 0), (2424, 'float4recv', 11, 'f', 0), (2426, 'float8recv', 11, 'f', 0),
  (2430, 'bpcharrecv', 11, 'f', 0), (2432, 'varcharrecv', 11, 'f', 0), (2434, 'charrecv', 11, 'f', 0),
  (2436, 'boolrecv', 11, 'f', 0), (2460, 'numeric_recv', 11, 'f', 0), (2468, 'date_recv', 11, 'f', 0),
  (2474, 'timestamp_recv', 11, 'f', 0), (2476, 'timestamptz_recv', 11, 'f', 0);
INSERT INTO info.schemata (catalog_name, schema_name, schema_owner) VALUES
  ('errorfloor', 'public', 'errorfloor'), ('errorfloor', 'pg_catalog', 'errorfloor'),
  ('errorfloor', 'information_schema', 'errorfloor');

-- No macro looks anything up in a table: its arguments could be taken for that table's columns.
CREATE MACRO format_type(kind, modifier) AS CASE kind
  WHEN 16 THEN 'boolean' WHEN 17 THEN 'bytea' WHEN 18 THEN '"char"' WHEN 19 THEN 'name' WHEN 20 THEN 'bigint'
  WHEN 21 THEN 'smallint' WHEN 23 THEN 'integer' WHEN 25 THEN 'text' WHEN 26 THEN 'oid' WHEN 700 THEN 'real'
  WHEN 701 THEN 'double precision' WHEN 705 THEN 'unknown' WHEN 1009 THEN 'text[]' WHEN 1016 THEN 'bigint[]'
  WHEN 1022 THEN 'double precision[]' WHEN 1042 THEN 'character' WHEN 1043 THEN 'character varying' WHEN 1082 THEN 'date'
  WHEN 1114 THEN 'timestamp without time zone' WHEN 1184 THEN 'timestamp with time zone' WHEN 1700 THEN 'numeric' END;
CREATE MACRO to_regtype(named) AS CASE lower(replace(replace(named, '"', ''), 'pg_catalog.', ''))
  WHEN 'bool' THEN 16 WHEN 'boolean' THEN 16 WHEN 'name' THEN 19 WHEN 'int8' THEN 20 WHEN 'bigint' THEN 20 WHEN 'int2' THEN 21
  WHEN 'int4' THEN 23 WHEN 'integer' THEN 23 WHEN 'text' THEN 25 WHEN 'oid' THEN 26 WHEN 'float4' THEN 700
  WHEN 'float8' THEN 701 WHEN 'double precision' THEN 701 WHEN 'varchar' THEN 1043 WHEN 'date' THEN 1082
  WHEN 'timestamp' THEN 1114 WHEN 'timestamptz' THEN 1184 WHEN 'numeric' THEN 1700 END::BIGINT;
CREATE MACRO as_regclass(number) AS number;
CREATE MACRO as_regtype(number) AS number;
CREATE MACRO name_of_type(number) AS format_type(number, NULL);
CREATE MACRO name_of_proc(number) AS CASE number
  WHEN 750 THEN 'array_in' WHEN 2400 THEN 'array_recv' WHEN 2404 THEN 'int2recv' WHEN 2406 THEN 'int4recv' WHEN 2408
  THEN 'int8recv' WHEN 2412 THEN 'bytearecv' WHEN 2414 THEN 'textrecv' WHEN 2416 THEN 'unknownrecv' WHEN 2418 THEN
  'oidrecv' WHEN 2422 THEN 'namerecv' WHEN 2424 THEN 'float4recv' WHEN 2426 THEN 'float8recv' WHEN 2430 THEN
  'bpcharrecv' WHEN 2432 THEN 'varcharrecv' WHEN 2434 THEN 'charrecv' WHEN 2436 THEN 'boolrecv' WHEN 2460 THEN
  'numeric_recv' WHEN 2468 THEN 'date_recv' WHEN 2474 THEN 'timestamp_recv' WHEN 2476 THEN 'timestamptz_recv' ELSE '-' END;
CREATE MACRO to_regproc(named) AS CASE WHEN named IN ('array_in', 'pg_catalog.array_in') THEN 750 ELSE -1 END;
CREATE MACRO to_regspace(named) AS CASE replace(named, '"', '')
  WHEN 'pg_catalog' THEN 11 WHEN 'public' THEN 2200 WHEN 'information_schema' THEN 13000 END::BIGINT;
CREATE MACRO version() AS 'PostgreSQL 15.0 (errorfloor)';
CREATE MACRO current_schemas(system) AS CASE WHEN system THEN ['pg_catalog', 'public'] ELSE ['public'] END;
CREATE MACRO setting_of(wanted) AS CASE wanted
  WHEN 'max_index_keys' THEN '32' WHEN 'server_version_num' THEN '150000' WHEN 'server_version' THEN '15.0'
  WHEN 'timezone' THEN 'UTC' WHEN 'standard_conforming_strings' THEN 'on' WHEN 'server_encoding' THEN 'UTF8'
  WHEN 'search_path' THEN 'public' WHEN 'is_superuser' THEN 'off' END;
CREATE MACRO current_setting (wanted) AS setting_of(lower(wanted)), (wanted, missing) AS setting_of(lower(wanted));
CREATE MACRO array_lower(items, dimension) AS CASE WHEN len(items) > 0 THEN 1 END;
CREATE MACRO array_upper(items, dimension) AS CASE WHEN len(items) > 0 THEN len(items) END;
CREATE MACRO cardinality(items) AS len(items);
CREATE MACRO generate_subscripts(items, dimension) AS unnest(range(1, len(items) + 1));
CREATE MACRO _pg_expandarray(items) AS unnest(list_transform(items, lambda x, i: {'x': x, 'n': i}));
CREATE MACRO _pg_truetypid(a, t) AS a.atttypid;
CREATE MACRO _pg_truetypmod(a, t) AS a.atttypmod;
CREATE MACRO _pg_char_max_length(kind, modifier) AS NULL::INTEGER;
CREATE MACRO shobj_description(wanted, kind) AS NULL::VARCHAR;
CREATE MACRO pg_get_userbyid(wanted) AS 'errorfloor';
CREATE MACRO pg_get_expr (a, b) AS NULL::VARCHAR, (a, b, c) AS NULL::VARCHAR;
CREATE MACRO pg_get_viewdef (a) AS NULL::VARCHAR, (a, b) AS NULL::VARCHAR;
CREATE MACRO pg_get_triggerdef (a) AS NULL::VARCHAR, (a, b) AS NULL::VARCHAR;
CREATE MACRO pg_get_ruledef (a) AS NULL::VARCHAR, (a, b) AS NULL::VARCHAR;
CREATE MACRO pg_get_partkeydef(a) AS NULL::VARCHAR;
CREATE MACRO pg_get_serial_sequence(a, b) AS NULL::VARCHAR;
CREATE MACRO pg_get_statisticsobjdef_columns(a) AS NULL::VARCHAR;
CREATE MACRO pg_get_function_arguments(a) AS NULL::VARCHAR;
CREATE MACRO pg_get_function_identity_arguments(a) AS NULL::VARCHAR;
CREATE MACRO pg_get_function_result(a) AS NULL::VARCHAR;
CREATE MACRO pg_get_functiondef(a) AS NULL::VARCHAR;
CREATE MACRO oidvectortypes(a) AS NULL::VARCHAR;
CREATE MACRO pg_table_is_visible(a) AS true;
CREATE MACRO pg_type_is_visible(a) AS true;
CREATE MACRO pg_function_is_visible(a) AS true;
CREATE MACRO pg_opclass_is_visible(a) AS true;
CREATE MACRO pg_is_other_temp_schema(a) AS false;
CREATE MACRO pg_my_temp_schema() AS 0::BIGINT;
CREATE MACRO pg_relation_is_publishable(a) AS false;
CREATE MACRO pg_is_in_recovery() AS false;
CREATE MACRO pg_backend_pid() AS 1;
CREATE MACRO pg_client_encoding() AS 'UTF8';
CREATE MACRO pg_encoding_to_char(a) AS 'UTF8';
CREATE MACRO pg_tablespace_location(a) AS '';
CREATE MACRO pg_advisory_unlock_all() AS NULL::VARCHAR;
CREATE MACRO pg_postmaster_start_time() AS NULL::TIMESTAMP;
CREATE MACRO pg_conf_load_time() AS NULL::TIMESTAMP;
CREATE MACRO pg_stat_get_numscans(a) AS 0::BIGINT;
CREATE MACRO pg_relation_size (a) AS 0::BIGINT, (a, b) AS 0::BIGINT;
CREATE MACRO pg_table_size(a) AS 0::BIGINT;
CREATE MACRO pg_total_relation_size(a) AS 0::BIGINT;
CREATE MACRO pg_database_size(a) AS 0::BIGINT;
CREATE MACRO pg_size_pretty(a) AS a::VARCHAR || ' bytes';
CREATE MACRO txid_current() AS 1::BIGINT;
CREATE MACRO inet_client_addr() AS NULL::VARCHAR;
CREATE MACRO inet_server_addr() AS NULL::VARCHAR;
CREATE MACRO inet_server_port() AS NULL::INTEGER;
CREATE MACRO allows(asked, granted) AS list_has_any(list_transform(string_split(upper(asked), ','), lambda x: trim(x)), granted);
CREATE MACRO has_table_privilege (a, b) AS allows(b, ['SELECT']), (a, b, c) AS allows(c, ['SELECT']);
CREATE MACRO has_any_column_privilege (a, b) AS allows(b, ['SELECT']), (a, b, c) AS allows(c, ['SELECT']);
CREATE MACRO has_column_privilege (a, b, c) AS allows(c, ['SELECT']), (a, b, c, d) AS allows(d, ['SELECT']);
CREATE MACRO has_schema_privilege (a, b) AS allows(b, ['USAGE']), (a, b, c) AS allows(c, ['USAGE']);
CREATE MACRO has_database_privilege (a, b) AS allows(b, ['CONNECT']), (a, b, c) AS allows(c, ['CONNECT']);
CREATE MACRO has_function_privilege (a, b) AS allows(b, ['EXECUTE']), (a, b, c) AS allows(c, ['EXECUTE']);
CREATE MACRO has_sequence_privilege (a, b) AS false, (a, b, c) AS false;
CREATE MACRO has_type_privilege (a, b) AS allows(b, ['USAGE']), (a, b, c) AS allows(c, ['USAGE']);
CREATE MACRO aclexplode(acl) AS unnest(list_transform(acl, lambda x: {
  'grantor': 10::BIGINT, 'grantee': 0::BIGINT, 'privilege_type': 'SELECT', 'is_grantable': false}));
CREATE MACRO pg_has_role (a, b) AS true, (a, b, c) AS true;
CREATE MACRO quote_ident(a) AS a;
CREATE MACRO row_to_json(a) AS NULL::VARCHAR;
CREATE MACRO pg_get_keywords() AS TABLE SELECT 'analyze' AS word, 'R' AS catcode, true AS barelabel, 'reserved' AS catdesc,
  'requires AS' AS baredesc;
