/* A tool for NVTX 3: writes what it is told to the file named by NVTX_TEST_LOG. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void (*Function)(void);
typedef struct { size_t size; int (*table)(int, Function***, unsigned*); } Callbacks;
typedef struct { size_t size; uint32_t version, reserved; void (*seen)(uint32_t); } Version;
typedef struct {
  uint16_t version, size; uint32_t category; int32_t color_type; uint32_t color;
  int32_t payload_type, reserved; uint64_t payload; int32_t message_type; const char* message;
} Attributes;

static uint64_t number;

static void say(const char* what, const char* domain, const char* name, uint64_t at) {
  FILE* file = fopen(getenv("NVTX_TEST_LOG"), "a");
  fprintf(file, "%s %s %s %llu\n", what, domain, name, (unsigned long long)at);
  fclose(file);
}
static void* create(const char* name) { return strdup(name); }
static void* registered(void* domain, const char* name) { (void)domain; return strdup(name); }
static uint64_t start(void* domain, const Attributes* event) {
  int good = event->version == 3 && event->size == 48 && event->message_type == 3;
  say(good ? "start" : "bad", domain, event->message, ++number);
  return number;
}
static void end(void* domain, uint64_t which) { say("end", domain, "-", which); }

int InitializeInjectionNvtx2(const void* (*export)(uint32_t)) {
  const Callbacks* callbacks = export(1);
  const Version* version = export(3);
  Function** table;
  unsigned size;
  version->seen(3);
  if (callbacks->size != 16 || version->size != 24 || export(7)) return 0;
  if (!callbacks->table(5, &table, &size) || size != 16 || callbacks->table(9, &table, &size)) return 0;
  *table[2] = (Function)start;
  *table[3] = (Function)end;
  *table[10] = (Function)registered;
  *table[12] = (Function)create;
  return 1;
}
