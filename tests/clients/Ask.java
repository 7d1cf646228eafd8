import java.io.*;
import java.nio.charset.StandardCharsets;
import java.sql.*;

/** Sends each statement of standard input, which are separated by zero bytes; writes results as lines. */
public class Ask {
    public static void main(String[] given) throws Exception {
        String[] statements = new String(System.in.readAllBytes(), StandardCharsets.UTF_8).split("\0");
        PrintStream out = new PrintStream(System.out, true, "UTF-8");
        try (Connection line = DriverManager.getConnection(given[0], given[1], given[2])) {
            for (String one : statements) {
                try (PreparedStatement asked = line.prepareStatement(one)) {
                    if (asked.execute()) {
                        ResultSet rows = asked.getResultSet();
                        int width = rows.getMetaData().getColumnCount();
                        StringBuilder row = new StringBuilder("names");
                        for (int i = 1; i <= width; i++) row.append('\t').append(rows.getMetaData().getColumnLabel(i));
                        out.println(row);
                        while (rows.next()) {
                            row = new StringBuilder("row");
                            for (int i = 1; i <= width; i++) row.append('\t').append(rows.getObject(i));
                            out.println(row);
                        }
                    }
                } catch (SQLException problem) {
                    String said = ((org.postgresql.util.PSQLException) problem).getServerErrorMessage().getMessage();
                    out.println("error\t" + problem.getSQLState() + "\t" + said.replace("\n", "\\n"));
                }
                out.println("end");
            }
        }
    }
}
