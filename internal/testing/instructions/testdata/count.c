/* A plugin of qemu-user (from version 6 on) that counts executed instructions.
 * System call 5000, which Linux does not have, writes the number that the
 * calling thread has executed since its previous call 5000, as text, to the
 * file CPAR_INSTRUCTIONS.
 *
 *	gcc -shared -fPIC -o count.so count.c
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* Declarations of qemu-plugin.h, which Debian does not package. */
typedef uint64_t qemu_plugin_id_t;
struct qemu_plugin_tb;
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t, void (*)(qemu_plugin_id_t, struct qemu_plugin_tb *));
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *, void (*)(unsigned, void *), int flags, void *);
void qemu_plugin_register_vcpu_syscall_cb(qemu_plugin_id_t, void (*)(qemu_plugin_id_t, unsigned, int64_t, uint64_t,
	uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t));
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *);

int qemu_plugin_version = 1;

static uint64_t executed[4096]; /* by thread */

static void run(unsigned thread, void *instructions) { executed[thread % 4096] += (uintptr_t)instructions; }

static void translate(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	qemu_plugin_register_vcpu_tb_exec_cb(tb, run, 0, (void *)qemu_plugin_tb_n_insns(tb));
}

static void call(qemu_plugin_id_t id, unsigned thread, int64_t number, uint64_t a, uint64_t b, uint64_t c,
	uint64_t d, uint64_t e, uint64_t f, uint64_t g, uint64_t h)
{
	if (number != 5000)
		return;
	FILE *out = fopen(getenv("CPAR_INSTRUCTIONS"), "w");
	if (!out || fprintf(out, "%" PRIu64, executed[thread % 4096]) < 0 || fclose(out) != 0)
		abort();
	executed[thread % 4096] = 0;
}

int qemu_plugin_install(qemu_plugin_id_t id, const void *info, int argc, char **argv)
{
	if (!getenv("CPAR_INSTRUCTIONS"))
		return 1;
	qemu_plugin_register_vcpu_tb_trans_cb(id, translate);
	qemu_plugin_register_vcpu_syscall_cb(id, call);
	return 0;
}
